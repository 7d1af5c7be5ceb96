"""CLONE: another table with the files of this one, or copies of them."""
