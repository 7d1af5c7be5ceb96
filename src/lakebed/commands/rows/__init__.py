"""What DELETE, UPDATE, MERGE and overwrites share: finding rows, and committing their changes."""
