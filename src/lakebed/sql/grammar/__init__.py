"""What each kind of statement looks like: text to statements."""
