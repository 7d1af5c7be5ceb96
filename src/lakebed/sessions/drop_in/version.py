"""`delta.version`: the version of delta-spark whose public names Lakebed has."""

__version__ = "4.4.0"
