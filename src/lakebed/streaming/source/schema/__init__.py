"""The columns that a stream reads, and how it goes on when they change."""
