"""`delta.connect`: the same `DeltaTable`, which takes sessions of both kinds."""

import lakebed.tables as tables
from lakebed.spark.errors import connect_conflicts as exceptions
from lakebed.tables.delta_table import DeltaTable

__all__ = ["DeltaTable", "exceptions", "tables"]

__path__: list[str] = []
