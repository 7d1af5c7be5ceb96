"""What commands share: the table that they change, its metadata and its files."""
