"""MERGE: rows of a source update, delete and insert rows of a table."""
