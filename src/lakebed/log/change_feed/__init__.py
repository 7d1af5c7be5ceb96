"""The change data feed of a range of versions."""
