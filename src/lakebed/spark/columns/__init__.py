"""Types, names and expressions of columns in DataFrames."""
