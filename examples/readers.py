"""What other implementations of Delta, as far as they are installed, see in a table."""

from __future__ import annotations

import importlib.resources
import importlib.util
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

import lakebed


def readers(path: str, column: str) -> Iterator[dict[str, object]]:
    """Rows and the sum of a column, by reader."""
    yield _answer("Lakebed on Arrow", lakebed.open(path).to_arrow(columns=[column])[column])
    if importlib.util.find_spec("deltalake"):
        from deltalake import DeltaTable

        found = pa.table(DeltaTable(path).to_pyarrow_table(columns=[column]))
        yield _answer("delta-rs", pa.chunked_array(found[column]))
    if importlib.util.find_spec("duckdb_extension_delta"):
        yield _duckdb_answer(path, column)


def _answer(reader: str, values: pa.ChunkedArray) -> dict[str, object]:
    return {"reader": reader, "rows": len(values), "sum": pc.sum(values).as_py()}


def _duckdb_answer(path: str, column: str) -> dict[str, object]:
    import duckdb

    package = importlib.resources.files("duckdb_extension_delta")
    extension = package / "extensions" / f"v{duckdb.__version__}" / "delta.duckdb_extension"
    with duckdb.connect() as connection:
        connection.load_extension(str(extension))
        query = f"SELECT count(*), sum({column})::BIGINT FROM delta_scan(?)"
        count, total = connection.execute(query, [path]).fetchall()[0]
    return {"reader": "DuckDB", "rows": count, "sum": total}
