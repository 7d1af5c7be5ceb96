"""What users hold. Has every public name of `delta.tables`, imported when first used: only those
for Spark import pyspark.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lakebed.tables.delta_table import DeltaTable
    from lakebed.tables.merge_builder import DeltaMergeBuilder
    from lakebed.tables.optimize_builder import DeltaOptimizeBuilder
    from lakebed.tables.table_builder import DeltaTableBuilder, IdentityGenerator

__all__ = [
    "DeltaMergeBuilder",
    "DeltaOptimizeBuilder",
    "DeltaTable",
    "DeltaTableBuilder",
    "IdentityGenerator",
]

_HOMES = {
    "DeltaMergeBuilder": "lakebed.tables.merge_builder",
    "DeltaOptimizeBuilder": "lakebed.tables.optimize_builder",
    "DeltaTable": "lakebed.tables.delta_table",
    "DeltaTableBuilder": "lakebed.tables.table_builder",
    "IdentityGenerator": "lakebed.tables.table_builder",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'lakebed.tables' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
