"""VACUUM: deletes files that no version inside the retention needs, and says what that costs."""
