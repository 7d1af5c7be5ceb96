"""One way to read, write or change a Delta table, and how it is tried. Knows nothing of Lakebed.

Every case starts with the table `t` in a database of its own, written by deltalake in two versions.
What the case leaves in the table is read by DuckDB, which reads all features, through delta-kernel.
"""

from __future__ import annotations

import importlib.resources
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from deltalake import write_deltalake

Rows = list[tuple[Any, ...]]
BEFORE: Rows = [(1, "a"), (2, "b")]
C: Rows = [(3, "c")]
BOTH: Rows = BEFORE + C

R, W, CH, NONE = "reads", "writes", "changes", ""
KINDS = (R, W, CH)
_OF_2020 = 1577836800.0
_PACKAGE = importlib.resources.files("duckdb_extension_delta")
_EXTENSION = _PACKAGE / "extensions" / f"v{duckdb.__version__}" / "delta.duckdb_extension"


@dataclass(frozen=True)
class Place:
    """A folder of its own, with the table `t` and a database whose tables are in `database`."""

    spark: Any
    folder: Path

    @property
    def path(self) -> str:
        return f"{self.folder}/t"

    @property
    def new(self) -> Any:
        """The row (3, 'c')."""
        return self.frame(C)

    def table(self, name: str) -> Path:
        """Where a table is: `t` and tables by path in the folder, others in the database's."""
        outside = self.folder / name
        return outside if outside.exists() else self.folder / "database" / name

    def frame(self, rows: Rows, schema: str = "id BIGINT, v STRING") -> Any:
        return self.spark.createDataFrame(rows, schema)

    def sql(self, *statements: str, **more: Any) -> Any:
        """The result of the last one. <folder> in a statement is this place's."""
        result = None
        for each in statements:
            result = self.spark.sql(each.replace("<folder>", str(self.folder)), **more)
        return result


How = Callable[[Place], Any]


@dataclass(frozen=True)
class Case:
    """What `how` returns has to be `rows`, and the rows of `table` too.

    If they differ, `stored` are the rows of the table. `operation` is the last one in its log.
    """

    group: str
    name: str
    kind: str
    how: How
    rows: Rows
    table: str = "t"
    stored: Rows | None = None
    operation: str | None = None
    since: tuple[int, int] = (4, 0)
    connect: bool = False  # tried through Spark Connect too

    def check(self, place: Place) -> None:
        result = self.how(place)
        if self.kind == R:
            assert result is not None, "a read returns rows"
        if result is not None:
            assert ordered(result) == ordered(self.rows), ordered(result)
        expected = self.rows if self.stored is None else self.stored
        folder = place.table(self.table)
        found = read(folder)
        assert found == ordered(expected), found
        if self.operation is not None:
            assert last_operation(folder) == self.operation, last_operation(folder)


def read(folder: Path) -> Rows:
    """The rows as DuckDB reads them."""
    return ordered(_reader().execute("SELECT * FROM delta_scan(?)", [str(folder)]).fetchall())


@cache
def _reader() -> duckdb.DuckDBPyConnection:
    """One for all cases: to load the extension takes longer than to read a table."""
    connection = duckdb.connect()
    connection.load_extension(str(_EXTENSION))
    return connection


def last_operation(folder: Path) -> str:
    newest = max((folder / "_delta_log").glob("*.json"))
    actions = [json.loads(line) for line in newest.read_text().splitlines()]
    return str(next(each["commitInfo"]["operation"] for each in actions if "commitInfo" in each))


def ordered(rows: Any) -> Rows:
    if hasattr(rows, "collect"):
        rows = rows.collect()
    return sorted((tuple(row) for row in rows), key=repr)


def write_table(folder: Path) -> None:
    """Version 0 has the first row of BEFORE and is of 2020, version 1 has both and is of today."""
    schema = pa.schema({"id": pa.int64(), "v": pa.string()})
    for row in BEFORE:
        data = pa.table({"id": [row[0]], "v": [row[1]]}, schema=schema)
        write_deltalake(folder, data, mode="append")
    os.utime(folder / "_delta_log" / f"{0:020}.json", (_OF_2020, _OF_2020))


@contextmanager
def place(spark: Any, folder: Path, database: str) -> Iterator[Place]:
    write_table(folder / "t")
    spark.sql(f"CREATE DATABASE {database} LOCATION '{folder}/database'")
    try:
        spark.sql(f"USE {database}")
        spark.sql(f"CREATE TABLE t USING delta LOCATION '{folder}/t'")
        yield Place(spark, folder)
    finally:
        spark.sql("USE default")
        spark.sql(f"DROP DATABASE {database} CASCADE")


def statements(*texts: str) -> How:
    """SQL that returns no rows of the table."""

    def how(place: Place) -> None:
        place.sql(*texts)

    return how


def query(*texts: str) -> How:
    """SQL whose last statement is a query."""
    return lambda place: place.sql(*texts)
