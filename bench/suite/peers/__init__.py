"""What runs in the process of a peer: one file for each."""
