"""Statistics of data files: from rows, from footers, as JSON and as columns."""
