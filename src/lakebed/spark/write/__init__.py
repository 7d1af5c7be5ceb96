"""Preparing the rows of a DataFrame for a table."""
