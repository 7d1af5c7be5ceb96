"""A Delta table as the source and the sink of streams."""
