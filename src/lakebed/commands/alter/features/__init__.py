"""Dropping table features, and what they leave in a table."""
