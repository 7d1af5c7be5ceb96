"""Runners: what statements do, one file for each kind."""
