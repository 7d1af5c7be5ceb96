"""All versions of a table: what was done, and which can still be read."""
