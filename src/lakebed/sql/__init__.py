"""The SQL front end: statements about Delta tables."""
