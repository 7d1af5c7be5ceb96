"""Reading many small files, in this process and in others."""
