"""What kind of session it is, and how settings and errors travel in it."""
