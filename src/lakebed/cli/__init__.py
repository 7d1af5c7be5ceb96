"""The command `lakebed`."""
