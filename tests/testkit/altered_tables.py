"""Tables that change, as others see them: deltalake, DuckDB, and the JSON of the log."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import duckdb_extension_delta
import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

from lakebed.commands.target.metadata_change import AlterTarget
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.storage import Store, open_store


def by_deltalake(path: Path) -> list[dict[str, Any]]:
    query = QueryBuilder().register("t", DeltaTable(str(path)))
    return pa.table(query.execute("select * from t").read_all()).to_pylist()


def by_duckdb(path: Path) -> list[dict[str, Any]]:
    found = _duckdb().execute(f"select * from delta_scan('{path}')").to_arrow_table()
    return found.to_pylist()


@cache
def _duckdb() -> duckdb.DuckDBPyConnection:
    folder = Path(duckdb_extension_delta.__file__).parent / "extensions"
    extension = folder / f"v{duckdb.__version__}" / "delta.duckdb_extension"
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    connection.execute(f"load '{extension}'")
    return connection


def ordered(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(repr(row) for row in rows)


def last_commit(path: Path) -> dict[str, Any]:
    """The actions of the newest commit by their names; those of files are left out."""
    return commit_of(path, max((path / "_delta_log").glob("*.json")).name)


def commit_of(path: Path, name: str) -> dict[str, Any]:
    lines = (path / "_delta_log" / name).read_text().splitlines()
    found: dict[str, Any] = {}
    for line in map(json.loads, lines):
        found.update(line)
    return found


def operations(path: Path) -> list[str]:
    """Oldest first."""
    names = sorted(file.name for file in (path / "_delta_log").glob("*.json"))
    return [commit_of(path, name)["commitInfo"]["operation"] for name in names]


def schema_json(path: Path) -> dict[str, Any]:
    """The fields of the newest schema by name, as the log has them."""
    names = sorted((file.name for file in (path / "_delta_log").glob("*.json")), reverse=True)
    text = next(
        c["metaData"]["schemaString"] for n in names if "metaData" in (c := commit_of(path, n))
    )
    return {field["name"]: field for field in json.loads(text)["fields"]}


def target(path: Path, store: Store | None = None) -> AlterTarget:
    return AlterTarget(TableLog(open_store(str(path)) if store is None else store))


class Interrupted(TableLog):
    """Lets somebody else commit right after a command has read the newest version, once."""

    def __init__(self, store: Store, meanwhile: Callable[[], Any]) -> None:
        super().__init__(store)
        self._meanwhile: Callable[[], Any] | None = meanwhile

    def snapshot(self, *args: Any, **kwargs: Any) -> Snapshot:
        try:
            return super().snapshot(*args, **kwargs)
        finally:
            if self._meanwhile is not None:
                meanwhile, self._meanwhile = self._meanwhile, None
                meanwhile()


def interrupted(path: Path, meanwhile: Callable[[], Any]) -> AlterTarget:
    return AlterTarget(Interrupted(open_store(str(path)), meanwhile))
