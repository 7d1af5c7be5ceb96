"""The files and rows of a table by implementations that share no code with Lakebed."""

from __future__ import annotations

from pathlib import Path

import duckdb
import duckdb_extension_delta
import polars
import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder


def rows_by_deltalake(folder: Path) -> list[tuple[object, ...]]:
    query = QueryBuilder().register("t", DeltaTable(str(folder)))
    return _rows(pa.table(query.execute("select * from t").read_all()))


def ids_by_deltalake(url: str, options: dict[str, str]) -> list[int]:
    """The column `id` of a table in an object store."""
    table = DeltaTable(url, storage_options=options)
    return sorted(table.to_pyarrow_table()["id"].to_pylist())


def rows_by_duckdb(folder: Path) -> list[tuple[object, ...]]:
    extensions = Path(duckdb_extension_delta.__file__).parent / "extensions"
    extension = extensions / f"v{duckdb.__version__}" / "delta.duckdb_extension"
    with duckdb.connect(config={"allow_unsigned_extensions": "true"}) as connection:
        connection.execute(f"LOAD '{extension}'")
        return _rows(connection.execute(f"SELECT * FROM delta_scan('{folder}')").to_arrow_table())


def rows_by_polars(folder: Path) -> list[tuple[object, ...]]:
    return _rows(polars.read_delta(str(folder)).to_arrow())


def files_by_deltalake(folder: Path) -> list[dict[str, object]]:
    actions = pa.table(DeltaTable(str(folder)).get_add_actions(flatten=True))
    return sorted(actions.to_pylist(), key=lambda row: str(row["path"]))


READERS = {"deltalake": rows_by_deltalake, "duckdb": rows_by_duckdb, "polars": rows_by_polars}


def _rows(table: pa.Table) -> list[tuple[object, ...]]:
    names = sorted(table.column_names)
    return sorted(tuple(row[name] for name in names) for row in table.to_pylist())
