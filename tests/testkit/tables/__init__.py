"""Builders of tables: of imaginary files, of any schema, with a history, on Spark, for Iceberg."""
