"""Names of tables in a session."""
