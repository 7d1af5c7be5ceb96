"""The second data plane: Python workers with pyarrow and obstore."""
