"""Tables that are published as Iceberg, and what its readers find: pyiceberg and DuckDB."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import duckdb_extension_avro
import duckdb_extension_iceberg
import orjson
import pyarrow as pa
from pyiceberg.table import StaticTable

import lakebed
from lakebed.formats import avro
from lakebed.formats.file_actions import adds_from_table
from lakebed.spec.actions import Action, Add, Remove, wrap
from lakebed.transaction import Operation, Transaction

ON = {
    "delta.enableIcebergCompatV2": "true",
    "delta.universalFormat.enabledFormats": "iceberg",
}


def numbers(first: int, last: int, day: str | None = "mon") -> pa.Table:
    ids = pa.array(range(first, last), pa.int64())
    return pa.table({"id": ids, "day": pa.array([day] * len(ids), pa.string())})


def make(path: Path, **options: Any) -> lakebed.Table:
    return lakebed.write(path, numbers(0, 10), properties=ON, **options)


def check_same(path: Path) -> None:
    """Both readers of Iceberg see the rows of the newest Delta version, by its name for columns."""
    table = lakebed.open(path)
    wanted = rows(table.to_arrow())
    assert rows(by_pyiceberg(path)) == wanted
    assert rows(by_duckdb(path)) == wanted
    assert document(path)["properties"]["delta-version"] == str(table.version)


def by_pyiceberg(path: Path, **scan: Any) -> pa.Table:
    return StaticTable.from_metadata(str(path)).scan(**scan).to_arrow()


def by_duckdb(path: Path) -> pa.Table:
    # A cursor has the extensions of its connection, and no cache of files that tests replace.
    cursor = _duckdb().cursor()
    cursor.execute("SET TimeZone = 'UTC'")
    return cursor.execute(f"SELECT * FROM iceberg_scan('{path}')").to_arrow_table()


@cache
def _duckdb() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    for module, name in ((duckdb_extension_avro, "avro"), (duckdb_extension_iceberg, "iceberg")):
        folder = Path(module.__file__).parent / "extensions" / f"v{duckdb.__version__}"
        connection.execute(f"LOAD '{folder / name}.duckdb_extension'")
    return connection


def rows(table: pa.Table) -> list[str]:
    return sorted(repr(sorted(row.items())) for row in table.to_pylist())


def document(path: Path) -> dict[str, Any]:
    number = (path / "metadata" / "version-hint.text").read_text()
    loaded: dict[str, Any] = orjson.loads((path / f"metadata/v{number}.metadata.json").read_bytes())
    return loaded


def manifests(path: Path, snapshot: int = -1) -> list[dict[str, Any]]:
    """What the manifest list of a snapshot says; the newest is the last."""
    place = document(path)["snapshots"][snapshot]["manifest-list"]
    return avro.decode(Path(place.removeprefix("file://")).read_bytes(), place)[1]


def entries(path: Path) -> list[dict[str, Any]]:
    found = []
    for manifest in manifests(path):
        place = manifest["manifest_path"]
        found += avro.decode(Path(place.removeprefix("file://")).read_bytes(), place)[1]
    return found


def ids(path: Path) -> list[int]:
    found: list[int] = sorted(by_pyiceberg(path).column("id").to_pylist())
    return found


def live(path: Path) -> list[Add]:
    adds = adds_from_table(lakebed.open(path).snapshot.files())
    return sorted(adds, key=lambda add: add.stats or "")


def commit(path: Path, *actions: Action, operation: str = "WRITE") -> lakebed.Table:
    transaction = Transaction(lakebed.open(path).snapshot, operation=Operation(operation))
    transaction.stage(*actions)
    transaction.commit().unwrap()
    return lakebed.open(path)


def foreign_commit(path: Path, *actions: Action) -> None:
    """By a writer that publishes nothing."""
    version = lakebed.open(path).version + 1
    data = b"\n".join(orjson.dumps(wrap(action)) for action in actions)
    (path / "_delta_log" / f"{version:020}.json").write_bytes(data)


def removal(add: Add, *, data_change: bool = True) -> Remove:
    return Remove(
        add.path,
        data_change=data_change,
        deletion_timestamp=1,
        extended_file_metadata=True,
        partition_values=add.partition_values,
        size=add.size,
    )
