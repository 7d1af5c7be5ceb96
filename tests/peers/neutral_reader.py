"""A reader that is neither engine: `deltalake`, in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder


def neutral_rows(table: Path, columns: str = "*") -> list[list[Any]]:
    """Sorted, as the engines give them."""
    query = QueryBuilder().register("t", DeltaTable(str(table)))
    rows = pa.table(query.execute(f"SELECT {columns} FROM t").read_all()).to_pylist()
    return sorted((list(row.values()) for row in rows), key=repr)
