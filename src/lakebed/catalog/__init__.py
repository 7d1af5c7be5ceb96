"""Names of tables, without Spark."""
