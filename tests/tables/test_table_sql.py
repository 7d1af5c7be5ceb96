"""SELECT without Spark: the rows are those of DuckDB over whole tables, from few of the files."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import lakebed
from lakebed.arrow import scan
from lakebed.errors import DataFileError, InvalidArgumentError
from lakebed.tables import table_sql
from lakebed.tables.table import Table


def rows() -> pa.Table:
    numbers = range(100)
    return pa.table(
        {
            "id": list(numbers),
            "name": [f"n{n:02}" for n in numbers],
            "price": [Decimal(n) / 4 for n in numbers],
            "x": [n / 10 for n in numbers],
            "f": pa.array([n / 10 for n in numbers], pa.float32()),
            "day": [date(2026, 1, 1 + n // 10) for n in numbers],
            "at": [datetime(2026, 1, 1, n % 24, tzinfo=timezone.utc) for n in numbers],
            "part": [n // 50 for n in numbers],
        }
    )


@pytest.fixture
def table(tmp_path: Path) -> Table:
    properties = {"delta.enableDeletionVectors": "true", "delta.columnMapping.mode": "name"}
    table = lakebed.write(
        tmp_path / "t", rows(), max_rows_per_file=10, partition_by=["part"], properties=properties
    )
    return table.delete("id % 10 = 3").table


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were read."""
    found: list[str] = []
    original = scan.read_file

    def noted(plan: Any, row: Any) -> Any:
        found.append(row["path"])
        return original(plan, row)

    monkeypatch.setattr(scan, "read_file", noted)
    return found


@pytest.mark.parametrize(
    ("query", "most"),
    [
        ("SELECT count(*) FROM self", 10),
        ("SELECT name FROM self WHERE id > 85 AND x < 9.5", 2),
        ("SELECT s.name FROM self s WHERE s.id BETWEEN 20 AND 25 OR false", 10),
        ("SELECT s.name FROM self s WHERE s.id BETWEEN 20 AND 25", 1),
        ("SELECT id FROM self WHERE 'n12' >= name", 2),
        ("SELECT id FROM self WHERE price = 2.25", 1),
        ("SELECT id FROM self WHERE day = '2026-01-04'", 1),
        ("SELECT id FROM self WHERE day >= DATE '2026-01-09'", 2),
        ("SELECT part, sum(x) FROM self WHERE part = 1 GROUP BY part HAVING sum(x) > 5", 5),
        ("SELECT max(id) FROM self WHERE id < 10 UNION ALL SELECT 1", 1),
        ("SELECT a.id FROM self a JOIN other o ON a.id = o.id WHERE a.id < 10", 1),
        ("SELECT a.id, o.n FROM self a LEFT JOIN other o ON a.id = o.id WHERE a.id < 10", 10),
        ("SELECT o.n, a.id FROM other o LEFT JOIN self a ON a.id = o.id AND a.id < 10", 10),
        ("SELECT id FROM self WHERE id > (SELECT max(id) - 3 FROM self)", 20),
        ("SELECT a.id FROM self a, self b WHERE a.id = b.id AND a.id < 5 AND b.id > 2", 10),
        ("SELECT id - 50 AS id FROM self WHERE id > 40", 10),
        ("SELECT id FROM self WHERE f = 0.1", 10),
        ("SELECT y FROM self AS s(y) WHERE y < 5", 10),
        ("WITH self AS (SELECT n AS id FROM other) SELECT id FROM self WHERE id < 3", 10),
        ("WITH c AS (SELECT id FROM self) SELECT a.id FROM c a JOIN c b ON a.id = b.id + 1", 10),
        (
            "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r JOIN self ON id = n + 1"
            " WHERE n < 20) SELECT n FROM r",
            10,
        ),
        ("SELECT n, (SELECT count(*) FROM self WHERE id < o.n) FROM other o", 10),
        ("SELECT count(*) FROM self WHERE name = 'n1'' OR id < 5 --'", 10),
        ("SELECT * EXCLUDE (day) FROM self WHERE ID < 12 ORDER BY id LIMIT 3", 2),
    ],
)
def test_the_rows_are_those_of_whole_tables(
    table: Table, read: list[str], query: str, most: int, tmp_path: Path
) -> None:
    other = lakebed.write(tmp_path / "other", {"id": [1, 2, 95], "n": [10, 2, 30]})
    files = [row["path"] for row in table.files().to_pylist()]
    found = table.sql(query, other=other)
    own = [path for path in read if path in files]
    assert len(own) <= most
    wanted = whole(query, self=table.to_arrow(), other=other.to_arrow())
    assert sorted(map(str, found.to_pylist())) == sorted(map(str, wanted.to_pylist()))


def whole(query: str, **tables: pa.Table) -> pa.Table:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for name, rows in tables.items():
            connection.register(name, rows)
        return connection.sql(query).to_arrow_table()


def test_only_columns_that_the_query_names_are_read(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Sequence[str]] = []
    original = table_sql.plan_scan

    def noted(snapshot: Any, columns: Sequence[str], where: Any) -> Any:
        seen.append(columns)
        return original(snapshot, columns, where)

    monkeypatch.setattr(table_sql, "plan_scan", noted)
    table.sql("SELECT sum(X) FROM self WHERE id > 3")
    table.sql("SELECT count(*) FROM self")
    assert seen == [["id", "x"], ("id",)]


def test_errors_are_those_of_lakebed(table: Table, tmp_path: Path) -> None:
    for query in ("DELETE FROM self", "SELECT 1; SELECT 2", "SELECT FROM WHERE"):
        with pytest.raises(InvalidArgumentError, match="not a single SELECT"):
            table.sql(query)
    with pytest.raises(InvalidArgumentError, match=r"DuckDB: .*nowhere"):
        table.sql("SELECT * FROM nowhere")
    gone = next((tmp_path / "t").rglob("*.parquet"))
    gone.unlink()
    with pytest.raises(DataFileError, match="gone"):
        table.sql("SELECT sum(id) FROM self")


def test_without_duckdb_the_error_says_what_to_install(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(InvalidArgumentError, match="needs DuckDB"):
        table.sql("SELECT 1")
