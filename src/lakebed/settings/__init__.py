"""The settings and options that users can set, one record each, and how their values are read."""
