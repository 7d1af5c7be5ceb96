"""What a user reads: a version, the change feed, or all that one command reads."""
