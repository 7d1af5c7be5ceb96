"""Queries over Delta tables by name and by path, in a classic session."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import lakebed
from lakebed.catalog.entry import NewEntry
from lakebed.errors import (
    LakebedError,
    TableNotFoundError,
    VersionNotFoundError,
)
from lakebed.spark.catalog.session_catalog import create_entry

Rows = list[tuple[Any, ...]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with versions 0: ids 1 and 2, and 1: ids 1 to 4."""
    path = tmp_path_factory.mktemp("queries") / "it's a; table ü"
    feed = {"delta.enableChangeDataFeed": "true"}
    lakebed.write(path, pa.table({"id": [1, 2], "p": ["a", "b"]}), properties=feed)
    lakebed.write(path, pa.table({"id": [3, 4], "p": ["a", "c"]}))
    return path


@pytest.fixture(scope="module")
def shop(spark: SparkSession, folder: Path) -> Iterator[SparkSession]:
    """The database sqlq has the table `orders`; the current one is another."""
    spark.sql("CREATE DATABASE sqlq")
    name_table(spark, "orders", folder)
    yield spark
    spark.sql("DROP DATABASE sqlq CASCADE")


def name_table(spark: SparkSession, name: str, path: Path, database: str = "sqlq") -> None:
    create_entry(spark, NewEntry(database, name, f"file://{path}", is_managed=False))


def rows(spark: SparkSession, text: str, args: Any = None, **frames: Any) -> Rows:
    return sorted(tuple(row) for row in spark.sql(text, args, **frames).collect())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT id FROM sqlq.orders WHERE p = 'a'", [(1,), (3,)]),
        ("SELECT max(spark_catalog.sqlq.ORDERS.ID) FROM spark_catalog.SQLQ.Orders", [(4,)]),
        ("SELECT sqlq.orders.id, orders.p FROM sqlq.orders LIMIT 0", []),
        ("SELECT o.id FROM sqlq.orders VERSION AS OF 0 AS o", [(1,), (2,)]),
        ("SELECT id FROM sqlq.orders@v0", [(1,), (2,)]),
        ("SELECT id FROM sqlq.`orders@v0` o", [(1,), (2,)]),
        ("SELECT id FROM sqlq.orders WITH (versionAsOf = 0)", [(1,), (2,)]),
        ("SELECT count(*) FROM delta.`{path}`", [(4,)]),
        ("SELECT count(*) FROM DELTA.`{path}@v0`", [(2,)]),
        ("SELECT count(*) FROM delta.`{path}` FOR VERSION AS OF 0", [(2,)]),
        (
            "SELECT id FROM sqlq.orders EXCEPT SELECT id FROM sqlq.orders VERSION AS OF 0",
            [(3,), (4,)],
        ),
        (
            "WITH orders AS (SELECT id FROM sqlq.orders WHERE id > 3) SELECT * FROM orders",
            [(4,)],
        ),
        (
            "SELECT a.id, b.id FROM sqlq.orders a JOIN sqlq.orders b ON a.id = b.id + 2",
            [(3, 1), (4, 2)],
        ),
        (
            "SELECT id FROM sqlq.orders o WHERE EXISTS (SELECT 1 FROM delta.`{path}` i "
            "WHERE i.id = o.id + 1) AND id IN (SELECT id FROM sqlq.orders@v0)",
            [(1,), (2,)],
        ),
        ("SELECT (SELECT max(id) FROM sqlq.orders) - 1", [(3,)]),
        ("SELECT x FROM sqlq.orders, LATERAL (SELECT id * 10 AS x) WHERE p = 'c'", [(40,)]),
        ("FROM sqlq.orders SELECT /*+ BROADCAST(orders) */ sum(id)", [(10,)]),
        ("TABLE sqlq.orders", [(1, "a"), (2, "b"), (3, "a"), (4, "c")]),
        (
            "SELECT * FROM (SELECT p, id FROM sqlq.orders) PIVOT (sum(id) FOR p IN ('a', 'b'))",
            [(4, 2)],
        ),
        (
            "SELECT id, _change_type, _commit_version FROM table_changes('sqlq.orders', 1)",
            [(3, "insert", 1), (4, "insert", 1)],
        ),
        ("SELECT id FROM table_changes('sqlq.orders', 0, 0) c WHERE c.id > 1", [(2,)]),
        ("SELECT count(*) FROM table_changes('sqlq.orders', '2000-01-01')", [(4,)]),
        ('SELECT count(*) FROM table_changes("delta.`{path}`", 1 - 1, 1)', [(4,)]),
        ("SELECT count(*) FROM table_changes_by_path({literal}, 1)", [(2,)]),
        ("DESCRIBE QUERY SELECT p FROM sqlq.orders", [("p", "string", None)]),
    ],
)
def test_a_query_reads_the_table_at_the_version_it_names(
    shop: SparkSession, folder: Path, text: str, expected: Rows
) -> None:
    literal = '"' + str(folder).replace('"', '\\"') + '"'
    assert rows(shop, text.replace("{path}", str(folder)).replace("{literal}", literal)) == expected


def test_a_time_names_the_version_that_was_the_newest_then(
    shop: SparkSession, folder: Path
) -> None:
    second, first = lakebed.open(folder).history()["timestamp"].to_pylist()
    moment = first.strftime("%Y-%m-%d %H:%M:%S.%f")
    query = "SELECT count(*) FROM sqlq.orders TIMESTAMP AS OF "
    assert rows(shop, f"{query} '{moment}'") == [(2,)]
    assert rows(shop, f"{query} timestamp_millis({int(second.timestamp() * 1000)})") == [(4,)]
    digits = (first + dt.timedelta(milliseconds=1)).strftime("%Y%m%d%H%M%S%f")[:17]
    if second - first > dt.timedelta(milliseconds=1):
        assert rows(shop, f"SELECT count(*) FROM sqlq.orders@{digits}") == [(2,)]
    with pytest.raises(AnalysisException, match="INVALID_TIME_TRAVEL_TIMESTAMP_EXPR"):
        shop.sql(f"{query} 'yesterday-ish'")
    with pytest.raises(VersionNotFoundError):
        shop.sql("SELECT * FROM sqlq.orders VERSION AS OF 9")
    with pytest.raises(ParseException, match="MULTIPLE_TIME_TRAVEL_SPEC"):
        shop.sql("SELECT * FROM sqlq.orders@v0 VERSION AS OF 1")


def test_files_are_skipped_by_statistics(shop: SparkSession) -> None:
    (scan,) = lakebed.explain_scan(shop.sql("SELECT p FROM sqlq.orders WHERE id > 3"))
    assert (scan.files_read, scan.files_listed) == (1, 2)
    assert scan.columns_read == ["id", "p"] or set(scan.columns_read) == {"id", "p"}


def test_views_of_every_kind_show_the_newest_version(shop: SparkSession, tmp_path: Path) -> None:
    lakebed.write(tmp_path / "t", pa.table({"id": [1]}))
    name_table(shop, "growing", tmp_path / "t")
    shop.sql("USE sqlq")
    try:
        shop.sql("CREATE VIEW plain AS SELECT id FROM growing")
        shop.sql("CREATE TEMPORARY VIEW temporary AS SELECT id AS n FROM growing")
        shop.sql("CREATE GLOBAL TEMP VIEW everywhere AS SELECT id FROM temporary JOIN growing")
        shop.sql("CREATE VIEW nested (twice) AS WITH g AS (TABLE plain) SELECT id * 2 AS x FROM g")
    finally:
        shop.sql("USE default")
    lakebed.write(tmp_path / "t", pa.table({"id": [5]}))
    assert rows(shop, "SELECT * FROM sqlq.plain") == [(1,), (5,)]
    assert rows(shop, "SELECT twice FROM sqlq.nested WHERE twice > 2") == [(10,)]
    assert rows(shop, "SELECT n FROM temporary") == [(1,), (5,)]
    assert rows(shop, "SELECT count(*) FROM global_temp.everywhere") == [(4,)]
    assert shop.table("sqlq.nested").columns == ["twice"]
    assert shop.table("temporary").count() == 2
    shop.sql("DROP VIEW temporary")
    shop.sql("DROP VIEW global_temp.everywhere")


def test_a_view_keeps_the_settings_that_it_was_made_with(shop: SparkSession) -> None:
    shop.conf.set("spark.sql.ansi.enabled", "false")
    try:
        shop.sql("CREATE VIEW sqlq.lenient AS SELECT CAST(p AS INT) AS n FROM sqlq.orders")
    finally:
        shop.conf.unset("spark.sql.ansi.enabled")
    assert rows(shop, "SELECT count(*), count(n) FROM sqlq.lenient") == [(4, 0)]


def test_a_temporary_view_goes_before_a_table(shop: SparkSession) -> None:
    shop.sql("USE sqlq")
    try:
        shop.range(1).createOrReplaceTempView("orders")
        assert rows(shop, "SELECT * FROM orders") == [(0,)]
        assert rows(shop, "SELECT count(*) FROM sqlq.orders") == [(4,)]
        shop.sql("CREATE OR REPLACE VIEW sqlq.permanent AS SELECT count(*) AS n FROM sqlq.orders")
        assert rows(shop, "SELECT * FROM permanent") == [(4,)]
    finally:
        shop.catalog.dropTempView("orders")
        shop.sql("USE default")


def test_names_follow_the_case_sensitivity_of_the_session(shop: SparkSession) -> None:
    shop.conf.set("spark.sql.caseSensitive", "true")
    try:
        assert rows(shop, "SELECT count(id) FROM sqlq.orders") == [(4,)]
        for text in ("SELECT * FROM sqlq.ORDERS", "SELECT ID FROM sqlq.orders"):
            with pytest.raises(AnalysisException):
                shop.sql(text)
    finally:
        shop.conf.unset("spark.sql.caseSensitive")


def test_a_frame_of_a_statement_sees_the_newest_version(
    spark: SparkSession, tmp_path: Path
) -> None:
    lakebed.write(tmp_path, pa.table({"id": [1]}))
    query = f"SELECT * FROM delta.`{tmp_path}`"
    before = spark.sql(query)
    lakebed.write(tmp_path, pa.table({"id": [2]}))
    assert (before.count(), spark.sql(query).count()) == (2, 2)


def test_other_formats_are_filled_from_delta_tables(shop: SparkSession) -> None:
    shop.sql("CREATE TABLE sqlq.copy USING parquet AS SELECT * FROM sqlq.orders WHERE id < 3")
    shop.sql(
        "WITH o AS (SELECT * FROM sqlq.orders) INSERT INTO sqlq.copy SELECT * FROM o WHERE id = 3"
    )
    shop.sql("INSERT INTO sqlq.copy TABLE sqlq.orders")
    assert rows(shop, "SELECT count(*), max(id) FROM sqlq.copy") == [(7, 4)]
    joined = "SELECT c.id FROM sqlq.copy c LEFT ANTI JOIN sqlq.orders@v0 o ON c.id = o.id"
    assert rows(shop, joined) == [(3,), (3,), (4,)]


def test_plans_are_explained_and_results_cached(shop: SparkSession) -> None:
    (plan,) = shop.sql("EXPLAIN FORMATTED SELECT * FROM sqlq.orders").first() or ()
    assert "Scan parquet" in plan
    shop.sql("CACHE TABLE kept AS SELECT * FROM sqlq.orders")
    assert shop.catalog.isCached("kept")
    assert rows(shop, "SELECT count(*) FROM kept") == [(4,)]
    shop.sql("UNCACHE TABLE kept")
    shop.sql("DROP VIEW kept")


@pytest.mark.parametrize("way", ["statement", "catalog"])
def test_cached_tables_keep_their_rows_until_they_are_uncached(
    shop: SparkSession, tmp_path: Path, way: str
) -> None:
    lakebed.write(tmp_path / "t", pa.table({"id": [1]}))
    name_table(shop, f"cached_{way}", tmp_path / "t")
    name = f"sqlq.cached_{way}"

    def change(word: str) -> None:
        if way == "statement":
            shop.sql(f"{word} TABLE {name}")
        else:
            {"CACHE": shop.catalog.cacheTable, "UNCACHE": shop.catalog.uncacheTable}[word](name)

    manager = shop._jsparkSession.sharedState().cacheManager()
    before = manager.numCachedEntries()
    change("CACHE")
    assert shop.catalog.isCached(name)
    lakebed.write(tmp_path / "t", pa.table({"id": [2]}))
    assert rows(shop, f"SELECT * FROM {name}") == [(1,)]
    change("CACHE")
    assert manager.numCachedEntries() == before + 1
    assert rows(shop, f"SELECT * FROM {name}") == [(1,)]
    shop.sql(f"INSERT INTO {name} VALUES (3)")
    assert rows(shop, f"SELECT * FROM {name}") == [(1,), (2,), (3,)]
    change("UNCACHE")
    assert manager.numCachedEntries() == before
    assert rows(shop, f"SELECT * FROM {name}") == [(1,), (2,), (3,)]


def test_tables_are_opened_by_name(shop: SparkSession, folder: Path) -> None:
    assert shop.table("sqlq.orders").count() == 4
    assert shop.read.option("versionAsOf", 0).table("sqlq.orders").count() == 2
    assert shop.read.table(f"delta.`{folder}`").count() == 4
    changes = shop.read.options(readChangeFeed=True, startingVersion=1).table("sqlq.orders")
    assert changes.where("_commit_version = 1").count() == 2
    frame = shop.table("sqlq.orders").alias("o")
    assert frame.join(shop.table("sqlq.orders"), "id").where(F.col("o.p") == "a").count() == 2


def test_parameters_are_values_and_never_sql(shop: SparkSession) -> None:
    query = "SELECT id FROM sqlq.orders WHERE p = :p AND id > :n -- :n"
    assert rows(shop, query, {"p": "a", "n": 1}) == [(3,)]
    assert rows(shop, "SELECT id FROM sqlq.orders WHERE p = ? OR id = ?", ["c", -4]) == [(4,)]
    evil = "a' OR '1' = '1"
    assert rows(shop, "SELECT id FROM sqlq.orders WHERE p = :p", {"p": evil}) == []
    assert rows(shop, "SELECT count(*) FROM IDENTIFIER(:t)", {"t": "sqlq.orders"}) == [(4,)]
    assert rows(shop, "SELECT count(*) FROM IDENTIFIER('sqlq' || '.orders')") == [(4,)]
    changes = "SELECT id FROM table_changes(:t, :n) WHERE p = :p"
    assert rows(shop, changes, {"t": "sqlq.orders", "n": 1, "p": "a"}) == [(3,)]
    query = "SELECT count(*) FROM sqlq.orders VERSION AS OF :v"
    assert rows(shop, query, {"v": 0}) == [(2,)]
    with pytest.raises(AnalysisException, match=r"UNBOUND_SQL_PARAMETER.*: p"):
        shop.sql("SELECT * FROM sqlq.orders WHERE p = :p", {"q": 1})
    with pytest.raises(AnalysisException, match="UNBOUND_SQL_PARAMETER"):
        shop.sql("SELECT * FROM sqlq.orders WHERE p = ? OR id = ?", ["a"])


@pytest.mark.parametrize(
    "value",
    [
        "it's \\ a `text` \" ; -- ü\n\t\0%_ \\% 😀",
        b"\x00\xff'",
        2**40,
        -(2**63),
        -1.5,
        1e300,
        float("inf"),
        Decimal("-12.340"),
        dt.date(1900, 2, 3),
        dt.datetime(2026, 1, 31, 12, 30, 15, 123456, dt.timezone.utc),
        dt.timedelta(days=-1, microseconds=7),
        True,
        None,
        [1, 2],
    ],
)
def test_every_kind_of_value_arrives_as_spark_would_give_it(shop: SparkSession, value: Any) -> None:
    plain = shop.sql("SELECT :v AS v", args={"v": value})
    bound = shop.sql("SELECT :v AS v FROM sqlq.orders WHERE id = 1", args={"v": value})
    assert bound.schema["v"].dataType == plain.schema["v"].dataType
    assert bound.collect() == plain.collect()


def test_lists_and_columns_are_arrays_and_maps(shop: SparkSession) -> None:
    query = "SELECT :a, :m FROM sqlq.orders WHERE id = 1"
    mixed = {"a": ["a", "b"], "m": F.create_map(F.lit("k"), F.lit(1.5))}
    assert shop.sql(query, args=mixed).first() == (["a", "b"], {"k": 1.5})
    columns = {"a": F.array(F.lit(1)), "m": F.create_map(F.lit("x"), F.lit("it's"))}
    assert shop.sql(query, args=columns).first() == ([1], {"x": "it's"})
    # Of PySpark itself.
    with pytest.raises(AttributeError):
        shop.sql(query, args={"a": object(), "m": 1})


def test_frames_in_braces_are_joined_with_delta_tables(shop: SparkSession) -> None:
    frame = shop.createDataFrame([(1, "one"), (3, "three")], ["id", "name"])
    text = "SELECT name FROM {f} JOIN sqlq.orders USING (id) WHERE p = {p} AND id > :n"
    assert rows(shop, text, {"n": 1}, f=frame, p="a") == [("three",)]
    assert not [each for each in shop.catalog.listTables() if each.name.startswith("_pyspark")]


def test_mistakes_keep_the_errors_of_spark(shop: SparkSession) -> None:
    with pytest.raises(AnalysisException, match=r"Did you mean.*`id`"):
        shop.sql("SELECT idd FROM sqlq.orders")
    with pytest.raises(ParseException):
        shop.sql("SELECT FROM sqlq.orders WHERE")
    with pytest.raises(AnalysisException, match=r"did you mean sqlq\.orders") as caught:
        shop.sql("SELECT * FROM sqlq.order")
    assert caught.value.getCondition() == "TABLE_OR_VIEW_NOT_FOUND"
    with pytest.raises(TableNotFoundError):
        shop.sql("SELECT * FROM delta.`/there/is/nothing`")
    with pytest.raises(TableNotFoundError, match="orders"):
        shop.sql("SELECT * FROM table_changes('sqlq.order', 1)")
    for text in ("table_changes('sqlq.orders')", "table_changes()", "table_changes(1, 2)"):
        with pytest.raises(LakebedError):
            shop.sql(f"SELECT * FROM {text}")


def test_new_sessions_read_the_tables_too(shop: SparkSession, folder: Path) -> None:
    other = shop.newSession()
    assert other.sql(f"SELECT count(*) FROM delta.`{folder}`@v0").first() == (2,)
    assert other.sql("SELECT 1").first() == (1,)
    assert other.table("sqlq.orders").count() == 4
    assert lakebed.enable(other).table("sqlq.orders").count() == 4


def test_names_qualify_columns_and_versions_are_joined(shop: SparkSession, folder: Path) -> None:
    text = "SELECT sqlq.orders.id FROM sqlq.orders, delta.`{path}@v0` o WHERE o.id = orders.id"
    assert rows(shop, text.replace("{path}", str(folder))) == [(1,), (2,)]
    assert rows(shop, "SELECT count(*) FROM sqlq.orders@v0 WHERE p = :p", {"p": "a"}) == [(1,)]


def test_a_query_is_the_value_of_a_variable(shop: SparkSession) -> None:
    shop.sql("DECLARE OR REPLACE VARIABLE most INT")
    shop.sql("SET VAR most = (SELECT max(id) FROM sqlq.orders)")
    assert rows(shop, "SELECT most") == [(4,)]
    shop.sql("DROP TEMPORARY VARIABLE most")


def test_scripts_and_statements_of_spark_run_as_they_are(shop: SparkSession) -> None:
    assert shop.sql("SELECT count(*) FROM range(3)").first() == (3,)
    assert shop.sql("SET spark.sql.ansi.enabled").first() is not None
    assert shop.sql("DESCRIBE FUNCTION abs").count() > 0
    with pytest.raises(ParseException):
        shop.sql("NONSENSE")
