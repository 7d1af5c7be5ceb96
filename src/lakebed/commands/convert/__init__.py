"""CONVERT: a folder of Parquet files becomes a Delta table."""
