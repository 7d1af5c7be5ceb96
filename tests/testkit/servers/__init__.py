"""Processes that tests start: object stores, Spark Connect, a cluster, writers."""
