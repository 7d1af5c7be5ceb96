"""Readers of Delta tables, each asked for filtered rows and for what its filters say of every row.

A filter in the WHERE clause may skip files and row groups; the same filter in the SELECT list skips
nothing. Both must name the same rows. Many filters go into one WHERE clause, joined by AND: if one
of them skips a file that it must not skip, the rows that all of them keep are missing.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol

import polars
import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

import lakebed
from testkit.edges.edge_values import Edge, Filter, Ids, kept_by_hand
from testkit.readers.other_readers import duckdb_with_delta


class Reader(Protocol):
    def rows(self, path: Path) -> pa.Table: ...

    def filtered(self, path: Path, queries: Sequence[Sequence[Filter]]) -> Ids: ...

    def by_hand(self, path: Path, filters: Sequence[Filter]) -> Ids: ...


# --- engines with SQL ---------------------------------------------------------------------------


class _SqlReader:
    """`run` executes a query that names the table as `{table}`."""

    def rows(self, path: Path) -> pa.Table:
        return self.run(path, "SELECT * FROM {table}")

    def filtered(self, path: Path, queries: Sequence[Sequence[Filter]]) -> Ids:
        conditions = (" AND ".join(map(self.condition, filters)) for filters in queries)
        texts = (f"SELECT id FROM {{table}} WHERE {condition}" for condition in conditions)
        return [set(self.run(path, text).column("id").to_pylist()) for text in texts]

    def by_hand(self, path: Path, filters: Sequence[Filter]) -> Ids:
        listed = ", ".join(f"{self.condition(each)} AS c{i}" for i, each in enumerate(filters))
        answers = self.run(path, f"SELECT id, {listed} FROM {{table}}")
        ids = answers.column("id").to_pylist()
        return [
            {
                row
                for row, kept in zip(ids, answers.column(f"c{i}").to_pylist(), strict=True)
                if kept
            }
            for i in range(len(filters))
        ]

    def condition(self, wanted: Filter) -> str:
        return condition(wanted, self.column(wanted.path), self.literal)

    def column(self, path: Sequence[str]) -> str:
        return ".".join(f'"{step}"' for step in path)

    def run(self, path: Path, query: str) -> pa.Table:
        raise NotImplementedError

    def literal(self, value: Any, edge: Edge) -> str:
        raise NotImplementedError


def condition(wanted: Filter, column: str, literal: Callable[[Any, Edge], str]) -> str:
    if wanted.operator == "IS NULL":
        return f"{column} IS {'NOT ' if wanted.negated else ''}NULL"
    values = ", ".join(literal(value, wanted.edge) for value in wanted.values)
    operator = "IS NOT DISTINCT FROM" if wanted.operator == "<=>" else wanted.operator
    text = (
        f"{column} {operator} ({values})" if operator == "IN" else f"{column} {operator} {values}"
    )
    return f"NOT ({text})" if wanted.negated else f"({text})"


class DuckDbReader(_SqlReader):
    def __init__(self) -> None:
        self._connection = duckdb_with_delta()
        self._connection.execute("SET timezone = 'UTC'")

    def run(self, path: Path, query: str) -> pa.Table:
        return self._connection.execute(
            query.format(table=f"delta_scan('{path}')")
        ).to_arrow_table()

    def literal(self, value: Any, edge: Edge) -> str:
        if isinstance(value, bytes):
            return f"from_hex('{value.hex()}')"
        if isinstance(value, dt.datetime):
            return f"{'TIMESTAMPTZ' if value.tzinfo else 'TIMESTAMP'} '{_text(value)}'"
        return plain_literal(value, edge)


class DeltalakeReader(_SqlReader):
    def run(self, path: Path, query: str) -> pa.Table:
        engine = QueryBuilder().register("t", DeltaTable(str(path)))
        return pa.table(engine.execute(query.format(table="t")).read_all())

    def column(self, path: Sequence[str]) -> str:
        first, *others = path
        return f'"{first}"' + "".join(f"['{step}']" for step in others)

    def literal(self, value: Any, edge: Edge) -> str:
        if isinstance(value, bytes):
            return f"X'{value.hex()}'"
        if isinstance(value, dt.datetime):
            zone = 'Some("UTC")' if value.tzinfo else "None"
            return f"arrow_cast('{_text(value)}', 'Timestamp(Microsecond, {zone})')"
        return plain_literal(value, edge)


def plain_literal(value: Any, edge: Edge) -> str:
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, str):
        return f"'{value}'"
    text = f"{value:f}" if isinstance(value, Decimal) else str(value)
    return f"CAST('{text}' AS {edge.sql_type})"


def _text(value: dt.datetime) -> str:
    return value.isoformat(sep=" ", timespec="microseconds")


# --- engines with expressions -------------------------------------------------------------------


class PolarsReader:
    def rows(self, path: Path) -> pa.Table:
        return polars.read_delta(str(path)).to_arrow()

    def filtered(self, path: Path, queries: Sequence[Sequence[Filter]]) -> Ids:
        table = polars.scan_delta(str(path))
        frames = [table.filter(*map(_polars, filters)).select("id") for filters in queries]
        return [set(found["id"]) for found in polars.collect_all(frames)]

    def by_hand(self, path: Path, filters: Sequence[Filter]) -> Ids:
        rows = polars.read_delta(str(path))
        return [set(rows.filter(_polars(each))["id"]) for each in filters]


def _polars(wanted: Filter) -> polars.Expr:
    first, *others = wanted.path
    column = polars.col(first)
    for step in others:
        column = column.struct.field(step)
    if wanted.operator == "IS NULL":
        return column.is_not_null() if wanted.negated else column.is_null()
    kind = polars.Series(pa.array([], wanted.edge.kind)).dtype
    values = [polars.lit(value, kind) for value in wanted.values]
    if wanted.operator == "IN":
        truth = column.is_in(polars.Series(wanted.values, dtype=kind))
    else:
        truth = _POLARS[wanted.operator](column, values[0])
    return ~truth if wanted.negated else truth


_POLARS: dict[str, Callable[[polars.Expr, polars.Expr], polars.Expr]] = {
    "=": lambda left, right: left == right,
    "<=>": lambda left, right: left.eq_missing(right),
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
}


class LakebedReader:
    """On Arrow, without Spark; it decides as Spark does."""

    def rows(self, path: Path) -> pa.Table:
        return lakebed.open(path).to_arrow()

    def filtered(self, path: Path, queries: Sequence[Sequence[Filter]]) -> Ids:
        table = lakebed.open(path)
        texts = (" AND ".join(map(_lakebed_condition, filters)) for filters in queries)
        return [set(table.to_arrow(["id"], where=text)["id"].to_pylist()) for text in texts]

    def by_hand(self, path: Path, filters: Sequence[Filter]) -> Ids:
        return kept_by_hand(self.rows(path), filters)


def _lakebed_condition(wanted: Filter) -> str:
    text = condition(wanted, _quoted(wanted.path), _lakebed_literal)
    return text.replace("IS NOT DISTINCT FROM", "<=>")


def _lakebed_literal(value: Any, edge: Edge) -> str:
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(value, dt.datetime):
        return f"{'TIMESTAMP' if value.tzinfo else 'TIMESTAMP_NTZ'} '{_text(value)}'"
    return plain_literal(value, edge)


def _quoted(path: Iterable[str]) -> str:
    return ".".join(f"`{step}`" for step in path)


ON_ARROW: dict[str, Callable[[], Reader]] = {
    "lakebed": LakebedReader,
    "duckdb": DuckDbReader,
    "polars": PolarsReader,
    "deltalake": DeltalakeReader,
}
