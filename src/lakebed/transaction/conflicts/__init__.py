"""Whether a commit can follow one that came first."""
