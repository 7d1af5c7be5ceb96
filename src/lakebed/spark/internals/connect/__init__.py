"""The parts of Spark Connect's client and server that Lakebed touches."""
