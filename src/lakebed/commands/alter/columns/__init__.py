"""Changes of columns."""
