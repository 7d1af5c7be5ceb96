"""Making a DataFrame fit for a table."""
