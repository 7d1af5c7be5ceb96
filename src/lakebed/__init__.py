"""Delta Lake for PySpark, written in Python.

Names are imported when first used: `import lakebed` costs nothing, and nothing but the Spark
functions imports pyspark.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lakebed.errors import LakebedError
    from lakebed.sessions.drop_in.install import install_as_delta
    from lakebed.sessions.enable import enable, session
    from lakebed.sessions.explain import explain_scan
    from lakebed.streaming.stream_progress import stream_progress
    from lakebed.tables.delta_table import DeltaTable
    from lakebed.tables.standalone import convert, create, is_delta_table, write
    from lakebed.tables.standalone import open_table as open
    from lakebed.tables.table import Scan, Table

__all__ = [
    "DeltaTable",
    "LakebedError",
    "Scan",
    "Table",
    "convert",
    "create",
    "enable",
    "explain_scan",
    "install_as_delta",
    "is_delta_table",
    "open",
    "session",
    "stream_progress",
    "write",
]

_HOMES = {
    "DeltaTable": "lakebed.tables.delta_table:DeltaTable",
    "LakebedError": "lakebed.errors:LakebedError",
    "Scan": "lakebed.tables.table:Scan",
    "Table": "lakebed.tables.table:Table",
    "convert": "lakebed.tables.standalone:convert",
    "create": "lakebed.tables.standalone:create",
    "enable": "lakebed.sessions.enable:enable",
    "explain_scan": "lakebed.sessions.explain:explain_scan",
    "install_as_delta": "lakebed.sessions.drop_in.install:install_as_delta",
    "is_delta_table": "lakebed.tables.standalone:is_delta_table",
    "open": "lakebed.tables.standalone:open_table",
    "session": "lakebed.sessions.enable:session",
    "stream_progress": "lakebed.streaming.stream_progress:stream_progress",
    "write": "lakebed.tables.standalone:write",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'lakebed' has no attribute {name!r}")
    module, _, attribute = _HOMES[name].partition(":")
    try:
        return getattr(import_module(module), attribute)
    except ImportError as error:
        from lakebed.spark.internals.startup.versions import refuse_import

        refuse_import(f"lakebed.{name}", error)
        raise
