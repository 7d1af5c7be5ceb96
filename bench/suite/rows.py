"""The rows that all peers write and change, and what is compared of the rows that they find."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

FILE_SIZE = "spark.databricks.delta.optimize.maxFileSize"
"""Both Sparks know it. Files that are smaller are small."""

FACTS = ("count(*)", "sum(id)", "sum(shop)", "sum(price)", "sum(length(name))")
"""Of the tables of `changing_rows`. Prices are quarters, which add up exactly."""


def one_row(number: int) -> Any:
    import pyarrow as pa

    return pa.table({"id": pa.array([number], pa.int64()), "name": [f"row {number}"]})


def changing_rows(ids: Any, *, merged: bool = False) -> Any:
    """Five columns of the kinds that tables have, as Arrow data; `merged` changes two of them."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    names = pa.array([f"{'merged' if merged else 'name'} {i}" for i in range(5_000)])
    seconds = pa.array((1_700_000_000 + ids) * 1_000_000)
    return pa.table(
        {
            "id": pa.array(ids),
            "shop": pa.array((ids % 1000).astype(np.int32)),
            "price": pa.array(ids * 0.25 + (0.5 if merged else 0)),
            "name": pc.take(names, pa.array(ids % 5_000)),
            "at": seconds.cast(pa.timestamp("us", "UTC")),
        }
    )


def facts_of_result(rows: Sequence[Sequence[Any]]) -> list[Any]:
    """How many rows, and the sum of all numbers in them to six digits: engines round decimals
    differently behind those."""
    total = sum(
        float(value)
        for row in rows
        for value in row
        if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)
    )
    return [len(rows), float(f"{total:.6g}")]


def plain(row: Sequence[Any]) -> list[Any]:
    """Numbers of whatever kind as floating-point numbers, which JSON has."""
    return [float(value) for value in row]
