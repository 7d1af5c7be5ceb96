"""CREATE, REPLACE, DROP and UNDROP of tables, with and without names."""
