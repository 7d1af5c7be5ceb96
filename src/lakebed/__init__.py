"""Delta Lake for PySpark, written in Python."""
