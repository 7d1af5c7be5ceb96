"""What keeps a log short and quick to read: checkpoints, checksums, clean-up."""
