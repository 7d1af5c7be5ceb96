"""A reader on Spark, of whichever format: many filtered reads go as one query."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from testkit.edges.edge_values import Edge, Filter, kept_by_hand


class SparkReader:
    """`load` gives the rows of a table at a path."""

    def __init__(self, load: Callable[[Path], DataFrame]) -> None:
        self._load = load

    def rows(self, path: Path) -> pa.Table:
        return self._load(path).toArrow()

    def filtered(self, path: Path, queries: Sequence[Sequence[Filter]]) -> list[set[int]]:
        """Each branch of the union is a scan with pushed filters of its own."""
        frame = self._load(path)
        branches = [
            frame.where(_all([spark_condition(each) for each in filters])).select(
                F.lit(i).alias("query"), "id"
            )
            for i, filters in enumerate(queries)
        ]
        found: list[set[int]] = [set() for _ in queries]
        for row in reduce(DataFrame.unionAll, branches).collect():
            found[row["query"]].add(row["id"])
        return found

    def by_hand(self, path: Path, filters: Sequence[Filter]) -> list[set[int]]:
        return kept_by_hand(self.rows(path), filters)


def _all(conditions: list[Column]) -> Column:
    """As a balanced tree: Spark's stack is not deep enough for a long chain."""
    if len(conditions) == 1:
        return conditions[0]
    half = len(conditions) // 2
    return _all(conditions[:half]) & _all(conditions[half:])


def spark_condition(wanted: Filter) -> Column:
    column = F.col(".".join(f"`{step}`" for step in wanted.path))
    if wanted.operator == "IS NULL":
        return column.isNotNull() if wanted.negated else column.isNull()
    values = [_literal(value, wanted.edge) for value in wanted.values]
    truth = _TRUTHS[wanted.operator](column, values)
    return ~truth if wanted.negated else truth


_TRUTHS: dict[str, Callable[[Column, list[Column]], Column]] = {
    "=": lambda column, values: column == values[0],
    "<=>": lambda column, values: column.eqNullSafe(values[0]),
    "<": lambda column, values: column < values[0],
    "<=": lambda column, values: column <= values[0],
    ">": lambda column, values: column > values[0],
    ">=": lambda column, values: column >= values[0],
    "IN": lambda column, values: column.isin(*values),
}


def _literal(value: Any, edge: Edge) -> Column:
    if isinstance(value, bytes):
        return F.lit(bytearray(value))
    if isinstance(value, bool | str):
        return F.lit(value)
    if isinstance(value, dt.datetime):
        value = value.isoformat(timespec="microseconds")
    text = f"{value:f}" if isinstance(value, Decimal) else str(value)
    return F.lit(text).cast(edge.sql_type)
