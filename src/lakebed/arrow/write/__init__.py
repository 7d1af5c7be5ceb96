"""Making rows fit for a table, and writing them as data files."""
