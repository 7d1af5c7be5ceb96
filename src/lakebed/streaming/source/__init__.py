"""What a stream reads: offsets, and the files between them. Never imports Spark."""
