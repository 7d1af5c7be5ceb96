"""What both data planes share about data files: their layout, what was written, their order."""
