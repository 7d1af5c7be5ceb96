"""OPTIMIZE and REORG: the same rows in fewer, larger or better arranged files."""
