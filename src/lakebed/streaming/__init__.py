"""Structured Streaming: Delta tables as sources and sinks, and how far streams have come."""
