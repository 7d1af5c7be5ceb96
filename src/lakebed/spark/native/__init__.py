"""The native data plane: Spark's own Parquet reader and writer."""
