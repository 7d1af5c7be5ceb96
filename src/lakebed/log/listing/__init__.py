"""Which files a log has, and which of them make up a version."""
