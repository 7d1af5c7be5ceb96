"""How Spark and obstore reach the store of a table."""
