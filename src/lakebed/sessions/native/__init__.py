"""What Lakebed's Java classes ask of Python: Spark's plans about Delta tables, answered."""
