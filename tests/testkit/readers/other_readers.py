"""The rows and files of a table by implementations that share no code with Lakebed."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import duckdb_extension_delta
import polars
import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder


def read_elsewhere(path: Path | str) -> pa.Table:
    """What deltalake finds, which also knows deletion vectors and column mapping."""
    query = QueryBuilder().register("t", DeltaTable(str(path)))
    return pa.table(query.execute("select * from t").read_all())


def by_deltalake(path: Path) -> list[dict[str, Any]]:
    return read_elsewhere(path).to_pylist()


def by_duckdb(path: Path) -> list[dict[str, Any]]:
    found = _duckdb().execute(f"select * from delta_scan('{path}')").to_arrow_table()
    return found.to_pylist()


def duckdb_with_delta() -> duckdb.DuckDBPyConnection:
    """A new connection that has `delta_scan`, which is delta-kernel-rs."""
    folder = Path(duckdb_extension_delta.__file__).parent / "extensions"
    extension = folder / f"v{duckdb.__version__}" / "delta.duckdb_extension"
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    connection.execute(f"LOAD '{extension}'")
    return connection


def ordered(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(repr(row) for row in rows)


def other_reader(path: Path) -> pa.Table:
    """All rows by deltalake's reader on pyarrow, ordered; it knows no deletion vectors."""
    table = DeltaTable(str(path)).to_pyarrow_table()
    return table.sort_by([(table.column_names[0], "ascending")])


def values_by_id(path: Path) -> dict[int, Any]:
    """The column `x` by the column `id`; by a reader that knows no deletion vectors."""
    found = DeltaTable(str(path)).to_pyarrow_table().to_pydict()
    return dict(zip(found["id"], found["x"], strict=True))


def ids_by_deltalake(url: str, options: dict[str, str]) -> list[int]:
    """The column `id` of a table in an object store."""
    table = DeltaTable(url, storage_options=options)
    return sorted(table.to_pyarrow_table()["id"].to_pylist())


def rows_by_deltalake(folder: Path) -> list[tuple[object, ...]]:
    return _rows(read_elsewhere(folder))


def rows_by_duckdb(folder: Path) -> list[tuple[object, ...]]:
    with duckdb_with_delta() as connection:
        return _rows(connection.execute(f"SELECT * FROM delta_scan('{folder}')").to_arrow_table())


def rows_by_polars(folder: Path) -> list[tuple[object, ...]]:
    return _rows(polars.read_delta(str(folder)).to_arrow())


def files_by_deltalake(folder: Path) -> list[dict[str, object]]:
    actions = pa.table(DeltaTable(str(folder)).get_add_actions(flatten=True))
    return sorted(actions.to_pylist(), key=lambda row: str(row["path"]))


READERS = {"deltalake": rows_by_deltalake, "duckdb": rows_by_duckdb, "polars": rows_by_polars}


@cache
def _duckdb() -> duckdb.DuckDBPyConnection:
    return duckdb_with_delta()


def _rows(table: pa.Table) -> list[tuple[object, ...]]:
    names = sorted(table.column_names)
    return sorted(tuple(row[name] for name in names) for row in table.to_pylist())
