"""The health of a table: what makes it slow or large, and the command that repairs it."""
