"""A reader that is neither engine: `deltalake`, in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from deltalake import DeltaTable, QueryBuilder


def neutral_rows(table: Path, columns: str = "*") -> list[list[Any]]:
    """Sorted, as the engines give them."""
    query = QueryBuilder().register("t", DeltaTable(str(table)))
    batches = query.execute(f"SELECT {columns} FROM t").read_all()
    return sorted((list(row.values()) for row in batches.to_pylist()), key=repr)
