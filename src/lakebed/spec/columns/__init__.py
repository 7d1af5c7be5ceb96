"""Columns: mapping, metadata, types, and the rules for changing them."""
