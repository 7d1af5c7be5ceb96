"""SQL in sessions of Spark Connect: tables are found by the tokens of the text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException

import lakebed
from lakebed.errors import TableNotFoundError
from lakebed.spark.catalog_entry import NewEntry
from lakebed.spark.session_catalog import create_entry


@pytest.fixture(scope="module")
def remote(connect_server: str) -> Iterator[Any]:
    from pyspark.sql.connect.session import SparkSession

    # Not through SparkSession.builder, which allows one kind of session in a process alone.
    session = SparkSession.builder.remote(connect_server).getOrCreate()
    yield lakebed.enable(session)
    session.stop()


@pytest.fixture(scope="module")
def folder(remote: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with versions 0: ids 1 and 2, and 1: ids 1 to 4; by name it is shop.orders."""
    path = tmp_path_factory.mktemp("connect") / "it's a; {table} ü"
    feed = {"delta.enableChangeDataFeed": "true"}
    lakebed.write(path, pa.table({"id": [1, 2], "p": ["a", "b"]}), properties=feed)
    lakebed.write(path, pa.table({"id": [3, 4], "p": ["a", "c"]}))
    remote.sql("CREATE DATABASE shop")
    create_entry(remote, NewEntry("shop", "orders", f"file://{path}", is_managed=False))
    return path


def rows(remote: Any, text: str, args: Any = None) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in remote.sql(text, args).collect())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT id FROM shop.orders WHERE shop.orders.p = 'a'", [(1,), (3,)]),
        (
            "SELECT o.id FROM shop.orders VERSION AS OF 0 o JOIN shop.orders USING (id)",
            [(1,), (2,)],
        ),
        ("SELECT orders.id FROM shop.orders@v0", [(1,), (2,)]),
        (
            "WITH o AS (SELECT id FROM shop.orders EXCEPT SELECT id FROM shop.orders@v0) "
            "SELECT id, '{}' FROM o WHERE id IN (SELECT max(id) FROM delta.`{path}`)",
            [(4, "{}")],
        ),
        ("SELECT id, _commit_version FROM table_changes('shop.orders', 1)", [(3, 1), (4, 1)]),
        ("WITH o AS (TABLE shop.orders) SELECT max(id) FROM o", [(4,)]),
        ("SELECT 1 + 1", [(2,)]),
    ],
)
def test_a_query_reads_delta_tables_by_name_and_by_path(
    remote: Any, folder: Path, text: str, expected: list[Any]
) -> None:
    assert rows(remote, text.replace("{path}", str(folder))) == expected


@pytest.mark.usefixtures("folder")
def test_parameters_and_times_are_taken(remote: Any) -> None:
    query = "SELECT id FROM IDENTIFIER(:t) WHERE p = :p AND id > :n"
    assert rows(remote, query, {"t": "shop.orders", "p": "a", "n": 1}) == [(3,)]
    later = "SELECT * FROM shop.orders TIMESTAMP AS OF current_timestamp() + INTERVAL 1 DAY o"
    with pytest.raises(lakebed.errors.VersionNotFoundError):
        remote.sql(later)


@pytest.mark.usefixtures("folder")
def test_tables_are_opened_by_name(remote: Any) -> None:
    assert remote.table("shop.orders").count() == 4
    assert remote.read.option("versionAsOf", 0).table("shop.orders").count() == 2
    remote.sql("CREATE TEMP VIEW some AS SELECT id FROM shop.orders WHERE id > 2")
    assert rows(remote, "SELECT count(*) FROM some") == [(2,)]
    remote.sql("CREATE VIEW shop.kept AS SELECT * FROM shop.orders")
    assert remote.table("shop.kept").count() == 4
    remote.sql("DROP VIEW shop.kept")
    with pytest.raises(AnalysisException):
        remote.sql("SELECT * FROM shop.nothing").collect()
    with pytest.raises(TableNotFoundError):
        remote.sql("SELECT * FROM delta.`/there/is/nothing`")


def test_temporary_views_follow_their_tables_until_they_are_others(
    remote: Any, tmp_path: Path
) -> None:
    lakebed.write(tmp_path / "t", pa.table({"id": [1]}))
    t = f"delta.`{tmp_path}/t`"
    remote.sql(f"CREATE TEMP VIEW follows AS SELECT * FROM {t}")
    remote.sql("CREATE TEMP VIEW twice AS SELECT f.id FROM follows f JOIN follows g USING (id)")
    lakebed.write(tmp_path / "t", pa.table({"id": [2], "more": ["x"]}), merge_schema=True)
    assert rows(remote, "SELECT * FROM follows") == [(1,), (2,)]
    assert rows(remote, "SELECT id FROM twice") == [(1,), (2,)]
    assert remote.table("follows").columns == ["id"]
    assert rows(remote, f"DELETE FROM {t} WHERE id IN (SELECT max(id) FROM follows)") == [(1,)]
    remote.range(7, 8).createOrReplaceTempView("follows")
    assert rows(remote, "SELECT * FROM follows") == [(7,)]
    remote.sql(f"CREATE OR REPLACE TEMPORARY VIEW follows AS SELECT id + 1 AS k FROM {t}")
    assert rows(remote, "SELECT k FROM follows") == [(2,)]
    remote.sql("CREATE OR REPLACE TEMP VIEW follows AS SELECT 9 AS k")
    assert rows(remote, "SELECT k FROM follows") == [(9,)]
    remote.sql("DROP VIEW follows")
    with pytest.raises(AnalysisException):
        remote.sql("SELECT * FROM follows").collect()


@pytest.mark.usefixtures("folder")
def test_names_that_may_be_meant_are_told(remote: Any) -> None:
    with pytest.raises(AnalysisException, match=r"did you mean shop\.orders\?"):
        remote.sql("SELECT * FROM shop.ordres").collect()
    with pytest.raises(AnalysisException, match=r"SUGGESTION[^$]*`p`"):
        remote.sql("SELECT pp FROM shop.orders").collect()


@pytest.mark.usefixtures("folder")
def test_the_catalog_tells_kind_and_columns(remote: Any) -> None:
    assert remote.catalog.getTable("shop.orders").tableType == "EXTERNAL"
    assert [each.name for each in remote.catalog.listColumns("shop.orders")] == ["id", "p"]
    listed = [each for each in remote.catalog.listTables("shop") if not each.isTemporary]
    assert [(each.name, each.tableType) for each in listed] == [("orders", "EXTERNAL")]


def test_statements_change_tables_too(remote: Any, tmp_path: Path) -> None:
    lakebed.write(tmp_path / "t", pa.table({"id": [1, 2], "p": ["a", "b"]}))
    t, incoming = f"delta.`{tmp_path}/t`", tmp_path / "in"
    incoming.mkdir()
    (incoming / "some.json").write_text('{"id": 7, "p": "json"}\n')
    assert rows(remote, f"INSERT INTO {t} VALUES ('3', 'c'), ('4', 'd')") == []
    assert rows(remote, f"UPDATE {t} x SET x.p = upper(x.p) WHERE x.id > 2") == [(2,)]
    delete = f"DELETE FROM {t} WHERE id IN (SELECT min(id) FROM {t})"
    assert rows(remote, delete) == [(1,)]
    merge = (
        f"MERGE INTO {t} t USING (VALUES (2, 'new'), (9, 'more')) AS s(id, p) ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    assert rows(remote, merge) == [(2, 1, 0, 1)]
    copy = f"COPY INTO {t} FROM '{incoming}' FILEFORMAT = JSON"
    assert (rows(remote, copy), rows(remote, copy)) == ([(1, 1, 0)], [(0, 0, 0)])
    remote.sql(f"ALTER TABLE {t} ADD COLUMN q INT AFTER id")
    found = lakebed.open(tmp_path / "t").to_arrow().sort_by("id").to_pydict()
    assert found["p"] == ["new", "C", "D", "json", "more"]
    assert list(found) == ["id", "q", "p"]
    assert remote.sql(f"DESCRIBE HISTORY {t} LIMIT 1").head()["operation"] == "ADD COLUMNS"
    with pytest.raises(lakebed.errors.SqlError, match="did you mean p"):
        remote.sql(f"UPDATE {t} SET pp = 1")
