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
    from lakebed.tables.create_standalone import create
    from lakebed.tables.delta_table import DeltaTable
    from lakebed.tables.table import Scan, Table, convert, is_delta_table, write
    from lakebed.tables.table import open_table as open

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
    "write",
]

_HOMES = {
    "DeltaTable": "lakebed.tables.delta_table:DeltaTable",
    "LakebedError": "lakebed.errors:LakebedError",
    "Scan": "lakebed.tables.table:Scan",
    "Table": "lakebed.tables.table:Table",
    "convert": "lakebed.tables.table:convert",
    "create": "lakebed.tables.create_standalone:create",
    "enable": "lakebed.sessions.enable:enable",
    "explain_scan": "lakebed.sessions.explain:explain_scan",
    "install_as_delta": "lakebed.sessions.drop_in.install:install_as_delta",
    "is_delta_table": "lakebed.tables.table:is_delta_table",
    "open": "lakebed.tables.table:open_table",
    "session": "lakebed.sessions.enable:session",
    "write": "lakebed.tables.table:write",
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
