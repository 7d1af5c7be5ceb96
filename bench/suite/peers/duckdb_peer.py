"""DuckDB with its extension for Delta tables. It reads the tables that Lakebed made."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from suite.peers.base import After, Peer
from suite.rows import facts_of_result, plain
from suite.tpch import TABLES, query_text


class DuckDb(Peer):
    def __init__(self, settings: Mapping[str, str]) -> None:
        super().__init__(settings)
        import duckdb
        import duckdb_extension_delta  # type: ignore[import-untyped]

        folder = Path(duckdb_extension_delta.__file__).parent / "extensions"
        extension = folder / f"v{duckdb.__version__}" / "delta.duckdb_extension"
        self._connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
        self._connection.execute(f"LOAD '{extension}'")
        self._connection.execute(f"SET threads = {settings['cores']}")
        self._connection.execute(f"SET memory_limit = '{settings['memory']}'")
        self._version = duckdb.__version__

    def about(self) -> dict[str, Any]:
        return {"version": self._version, **super().about()}

    def tables(self, folder: str) -> None:
        for table in TABLES:
            path = f"{folder}/{table}"
            self._connection.execute(
                f"CREATE OR REPLACE VIEW {table} AS SELECT * FROM delta_scan('{path}')"
            )

    def query(self, number: int) -> After:
        rows = self._connection.execute(query_text(number)).fetchall()
        return lambda: facts_of_result(rows)

    def scan(self, path: str) -> None:
        """All columns of all rows, to nowhere."""
        reader = self._connection.execute(f"SELECT * FROM delta_scan('{path}')").arrow(65_536)
        for _ in reader:
            pass

    def facts(self, path: str, expressions: list[str]) -> After:
        query = f"SELECT {', '.join(expressions)} FROM delta_scan('{path}')"
        row = self._connection.execute(query).fetchone()
        assert row is not None
        return lambda: plain(row)
