"""Delta Lake for PySpark, written in Python."""

from lakebed.errors import LakebedError
from lakebed.tables.table import Scan, Table, is_delta_table, write
from lakebed.tables.table import open_table as open

__all__ = ["LakebedError", "Scan", "Table", "is_delta_table", "open", "write"]
