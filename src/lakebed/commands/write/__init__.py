"""Appending, overwriting and replacing rows."""
