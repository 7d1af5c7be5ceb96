"""COPY INTO: files become rows of a table, each file once."""
