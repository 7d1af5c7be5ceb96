"""Views, functions and EXECUTE IMMEDIATE over Delta tables in sessions of Spark Connect.

The server reads the tables of views and functions by itself; `on_the_server` asks it past Lakebed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, ParseException, PySparkException

import lakebed
from lakebed.errors import (
    InvalidArgumentError,
    SchemaMismatchError,
    SqlError,
    TableNotFoundError,
    UnsupportedFeatureError,
)

Rows = list[tuple[Any, ...]]


@pytest.fixture(scope="module")
def remote(connect_server: str) -> Iterator[Any]:
    from pyspark.sql.connect.session import SparkSession

    session = SparkSession.builder.remote(connect_server).getOrCreate()
    yield lakebed.enable(session)
    session.stop()


@pytest.fixture
def shop(remote: Any, tmp_path: Path) -> Iterator[Any]:
    """The current database has `orders`, which is managed, and `items`, which is not."""
    remote.sql("CREATE DATABASE defs")
    remote.sql("USE defs")
    remote.sql("CREATE TABLE orders (id INT, p STRING) USING delta")
    remote.sql("INSERT INTO orders VALUES (1, 'a'), (2, 'b')")
    folder = f"{tmp_path}/it's 10%; {{items}} ü"
    remote.sql(f'CREATE TABLE items (id INT, n CHAR(3) NOT NULL) USING delta LOCATION "{folder}"')
    remote.sql("INSERT INTO items VALUES (1, 'x'), (2, 'y')")
    yield remote
    remote.sql("USE default")
    remote.sql("DROP DATABASE defs CASCADE")


def rows(remote: Any, text: str, args: Any = None) -> Rows:
    return sorted(tuple(row) for row in remote.sql(text, args).collect())


def on_the_server(remote: Any, text: str) -> Rows:
    from lakebed.spark.internals.connect import plain_sql

    return sorted(tuple(row) for row in plain_sql(remote, text).collect())


def stored(remote: Any, name: str = "orders") -> Rows:
    location = remote.sql(f"DESCRIBE DETAIL {name}").head()["location"]
    table = lakebed.open(location.removeprefix("file:")).to_arrow()
    return sorted(tuple(row.values()) for row in table.to_pylist())


def test_the_server_reads_tables_of_its_catalog_by_itself(shop: Any) -> None:
    both = "SELECT o.id, p, n FROM orders o JOIN items USING (id)"
    expected = [(1, "a", "x  "), (2, "b", "y  ")]
    assert on_the_server(shop, both) == rows(shop, both) == expected
    shop.sql("INSERT INTO orders VALUES (3, 'c')")
    assert on_the_server(shop, "SELECT max(id) FROM orders") == [(3,)]


def test_functions_read_the_newest_version(shop: Any) -> None:
    shop.sql(
        "CREATE FUNCTION orders_until(most INT) RETURNS BIGINT "
        "RETURN SELECT count(*) FROM orders WHERE id <= most"
    )
    shop.sql(
        "CREATE TEMPORARY FUNCTION after(least INT) RETURNS TABLE (id INT, n STRING) "
        "RETURN SELECT orders.id, n FROM defs.orders LEFT JOIN items ON orders.id = items.id "
        "WHERE orders.id > least"
    )
    try:
        assert rows(shop, "SELECT orders_until(1), orders_until(100)") == [(1, 2)]
        shop.sql("INSERT INTO orders VALUES (3, 'c')")
        assert rows(shop, "SELECT orders_until(1), orders_until(100)") == [(1, 3)]
        assert rows(shop, "SELECT id, n FROM after(1)") == [(2, "y  "), (3, None)]
        assert shop.sql("SELECT id FROM orders").selectExpr("orders_until(2)").head() == (2,)
    finally:
        shop.sql("DROP TEMPORARY FUNCTION after")
        shop.sql("DROP FUNCTION orders_until")


def test_permanent_views_follow_their_tables(shop: Any) -> None:
    shop.sql("CREATE VIEW joined (a, b) AS SELECT orders.id, items.n FROM orders, items")
    shop.sql("CREATE OR REPLACE VIEW first AS SELECT count(*) AS n FROM orders VERSION AS OF 0")
    shop.sql("CREATE VIEW second AS SELECT count(*) AS n FROM orders@v1 WHERE id < 100")
    shop.sql("CREATE TEMPORARY VIEW seen (x) AS SELECT id FROM orders")
    try:
        for ask in (rows, on_the_server):
            shop.sql("INSERT INTO orders VALUES (3, 'c')")
            count = len(stored(shop))
            assert len(ask(shop, "SELECT a, b FROM joined")) == 2 * count
            assert ask(shop, "SELECT * FROM first") == [(0,)]
            assert ask(shop, "SELECT * FROM second") == [(2,)]
            assert len(ask(shop, "SELECT x FROM seen")) == count
        shop.sql("/* again */ ALTER VIEW first AS SELECT max(id) AS n FROM orders VERSION AS OF 1")
        assert rows(shop, "SELECT n FROM first") == on_the_server(shop, "TABLE first") == [(2,)]
        shop.sql("CREATE TABLE copied USING delta AS SELECT * FROM joined")
        schema = lakebed.open(shop.sql("DESCRIBE DETAIL copied").head()["location"][5:]).schema
        assert "lakebed" not in str(schema.to_json())
    finally:
        shop.sql("DROP VIEW seen")


def test_columns_that_have_changed_are_told_to_the_catalog(shop: Any) -> None:
    shop.sql("CREATE FUNCTION total() RETURNS BIGINT RETURN SELECT count(*) FROM orders")
    shop.sql("ALTER TABLE orders ADD COLUMNS (q INT FIRST, r STRUCT<a: INT> AFTER id)")
    everything = "SELECT q, id, r, p FROM orders"
    assert on_the_server(shop, everything)[0] == (None, 1, None, "a")
    # By its path nobody tells the catalog.
    path = shop.sql("DESCRIBE DETAIL orders").head()["location"].removeprefix("file:")
    lakebed.write(path, pa.table({"id": pa.array([9], pa.int32()), "new": [1]}), merge_schema=True)
    with pytest.raises(SchemaMismatchError, match="REFRESH TABLE"):
        on_the_server(shop, "SELECT total()")
    shop.sql("REFRESH TABLE orders")
    assert on_the_server(shop, "SELECT total()") == [(3,)]
    assert on_the_server(shop, "SELECT * FROM orders")[-1] == (None, 9, None, None, 1)
    shop.sql("CREATE OR REPLACE TABLE orders (other STRING) USING delta")
    with pytest.raises((SchemaMismatchError, PySparkException)):
        on_the_server(shop, "SELECT total()")
    with pytest.raises(UnsupportedFeatureError, match="managed table"):
        shop.sql("REFRESH TABLE orders")
    shop.sql("DROP FUNCTION total")


def test_an_entry_without_columns_is_told_them(shop: Any, tmp_path: Path) -> None:
    """As classic sessions and older versions of Lakebed make them."""
    lakebed.write(tmp_path / "t", pa.table({"x": [7]}))
    on_the_server(shop, f"CREATE TABLE bare (x BIGINT) USING delta LOCATION '{tmp_path}/t'")
    with pytest.raises(InvalidArgumentError, match="REFRESH TABLE"):
        on_the_server(shop, "SELECT * FROM bare")
    shop.catalog.refreshTable("bare")
    assert on_the_server(shop, "SELECT * FROM bare") == [(7,)]
    assert shop.catalog.getTable("bare").tableType == "EXTERNAL"


def test_a_renamed_managed_table_is_never_taken_for_another(shop: Any) -> None:
    shop.sql("ALTER TABLE orders RENAME TO older")
    shop.sql("CREATE TABLE orders (id INT, p STRING) USING delta")
    shop.sql("INSERT INTO orders VALUES (100, 'new')")
    assert on_the_server(shop, "SELECT id FROM orders") == [(100,)]
    with pytest.raises(InvalidArgumentError):
        on_the_server(shop, "SELECT id FROM older")
    assert rows(shop, "SELECT id FROM older") == [(1,), (2,)]


def test_what_the_server_cannot_follow_is_refused_with_its_place(shop: Any, tmp_path: Path) -> None:
    lakebed.write(tmp_path / "t", pa.table({"x": [7]}))
    with pytest.raises(SqlError, match="changes") as found:
        shop.sql(f"CREATE VIEW v AS SELECT * FROM delta.`{tmp_path}/t`, table_changes('orders', 0)")
    assert found.value.position == len(f"CREATE VIEW v AS SELECT * FROM delta.`{tmp_path}/t`, ")
    with pytest.raises(TableNotFoundError):
        shop.sql("CREATE VIEW v AS SELECT * FROM delta.`/there/is/nothing`")
    shop.sql("CREATE TEMPORARY VIEW seen AS SELECT id FROM orders")
    with pytest.raises(SqlError, match="temporary view"):
        shop.sql("CREATE TEMPORARY FUNCTION f() RETURNS INT RETURN SELECT max(id) FROM seen")
    shop.sql("DROP VIEW seen")
    shop.sql("ALTER TABLE items ADD COLUMNS (z INT)")
    with pytest.raises(SqlError, match="other columns"):
        shop.sql("CREATE VIEW old AS SELECT * FROM items VERSION AS OF 0")
    assert shop.sql("SHOW VIEWS IN defs").collect() == []
    tables = {row["tableName"] for row in shop.sql("SHOW TABLES IN defs").collect()}
    assert tables == {"orders", "items"}


def test_views_and_functions_read_tables_by_path(shop: Any, tmp_path: Path) -> None:
    path = f"{tmp_path}/{{it}}'s ü; 10%"
    lakebed.write(path, pa.table({"x": [7]}))
    shop.sql(f"CREATE VIEW by_path AS SELECT x AS y, '{{}}' AS z FROM delta.`{path}`")
    shop.sql(
        f"CREATE FUNCTION older() RETURNS BIGINT "
        f"RETURN SELECT sum(t.x) FROM delta.`{path}` VERSION AS OF 0 AS t"
    )
    lakebed.write(path, pa.table({"x": [8]}))
    assert on_the_server(shop, "SELECT * FROM by_path") == [(7, "{}"), (8, "{}")]
    assert rows(shop, "SELECT y, older() FROM by_path") == [(7, 7), (8, 7)]
    shop.sql("DROP FUNCTION older")


def test_execute_immediate_reads_and_writes(shop: Any) -> None:
    shop.sql("DECLARE OR REPLACE VARIABLE most INT")
    shop.sql("DECLARE OR REPLACE VARIABLE id BIGINT DEFAULT 2")
    shop.sql(
        "DECLARE OR REPLACE VARIABLE text STRING DEFAULT 'SELECT max(id) FROM orders WHERE id < ?'"
    )
    try:
        shop.sql("EXECUTE IMMEDIATE text INTO most USING 100")
        assert rows(shop, "SELECT most") == [(2,)]
        shop.sql("EXECUTE IMMEDIATE 'WITH o AS (TABLE orders) SELECT min(id) FROM o' INTO most")
        assert rows(shop, "SELECT most") == [(1,)]
        shop.sql("EXECUTE IMMEDIATE 'SELECT id FROM orders WHERE id > 50' INTO most")
        assert rows(shop, "SELECT most") == [(None,)]
        with pytest.raises(PySparkException, match="TOO_MANY_ROWS"):
            shop.sql("EXECUTE IMMEDIATE 'SELECT id FROM orders' INTO most").collect()
        named = "EXECUTE IMMEDIATE 'SELECT p FROM orders WHERE id = :id' USING :v AS id"
        assert rows(shop, named, {"v": 2}) == [("b",)]
        # The value of the variable, not the column of the same name.
        assert rows(shop, "EXECUTE IMMEDIATE 'SELECT p FROM orders WHERE id = :id' USING id") == [
            ("b",)
        ]
        deleted = shop.sql("EXECUTE IMMEDIATE 'DELETE FROM orders WHERE id < ?' USING (2)")
        assert deleted.collect() == [(1,)]
        shop.sql("EXECUTE IMMEDIATE 'INSERT INTO orders VALUES (:a, :b)' USING 7 AS a, '\\'' AS b")
        assert stored(shop) == [(2, "b"), (7, "'")]
        for text in ("DELETE FROM orders", "RESTORE TABLE orders TO VERSION AS OF 0"):
            with pytest.raises(SqlError, match="INTO"):
                shop.sql(f"EXECUTE IMMEDIATE '{text}' INTO most")
        assert len(stored(shop)) == 2
        shop.sql("EXECUTE IMMEDIATE 'RESTORE TABLE orders TO VERSION AS OF ?' USING 1")
        assert rows(shop, "EXECUTE IMMEDIATE 'DESCRIBE HISTORY orders LIMIT 1'")[0][0] == 4
        assert stored(shop) == [(1, "a"), (2, "b")]
    finally:
        for name in ("most", "id", "text"):
            shop.sql(f"DROP TEMPORARY VARIABLE {name}")


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("BIGINT", "-9223372036854775808"),
        ("TINYINT", "-3"),
        ("FLOAT", "0.1"),
        ("DECIMAL(20,3)", "-12345678901234567.125"),
        ("DATE", "1582-10-15"),
        ("TIMESTAMP", "2026-03-29 02:30:00.123456"),
        ("TIMESTAMP", "2026-10-25 00:30:00.123456Z"),
        ("TIMESTAMP", "2026-10-25 01:30:00.123456Z"),
        ("DOUBLE", "NaN"),
        ("INTERVAL DAY TO SECOND", "1 02:03:04.5"),
        ("TIMESTAMP_NTZ", "2026-03-29 02:30:00.123456"),
        ("BINARY", "it\\'s"),
        ("STRING", "a\\\\b\\'; --"),
    ],
)
def test_values_of_execute_immediate_keep_their_types(shop: Any, kind: str, value: str) -> None:
    """Whatever the zone of the session is, and in the hour that comes twice there."""
    query = "SELECT CAST(? AS STRING), {}, typeof(?), (SELECT count(*) FROM orders)"
    moment = "unix_micros({})" if kind == "TIMESTAMP" else "hash({})"
    given = f"CAST('{value}' AS {kind})"
    text = query.format(moment.format("?"))
    shop.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        found = rows(shop, f"EXECUTE IMMEDIATE '{text}' USING {given}, {given}, {given}")
        expected = query.format(moment.format("?")).replace("?", given)
        assert found == on_the_server(shop, expected.replace("(SELECT count(*) FROM orders)", "2"))
    finally:
        shop.conf.set("spark.sql.session.timeZone", "UTC")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("EXECUTE IMMEDIATE 'SELECT 1 + ?' USING 2", [(3,)]),
        ("EXECUTE IMMEDIATE upper('select 1')", [(1,)]),
    ],
)
def test_other_texts_are_left_to_the_server(
    shop: Any, text: str, expected: Rows, request: pytest.FixtureRequest
) -> None:
    if "upper" in text and shop.version.startswith("4.0"):
        request.applymarker(pytest.mark.xfail(reason="4.0 takes strings and variables alone"))
    assert rows(shop, text) == expected


def test_mistakes_in_execute_immediate_change_nothing(shop: Any) -> None:
    with pytest.raises(ParseException):
        shop.sql("EXECUTE IMMEDIATE 'SELEC * FROM orders'")
    with pytest.raises(ParseException):
        shop.sql("EXECUTE IMMEDIATE")
    with pytest.raises(AnalysisException):
        shop.sql("EXECUTE IMMEDIATE 'SELECT * FROM nowhere'").collect()
    with pytest.raises(TableNotFoundError):
        shop.sql("EXECUTE IMMEDIATE 'OPTIMIZE nowhere'")
    with pytest.raises(SqlError):
        shop.sql("EXECUTE IMMEDIATE 'DELETE FROM orders WHERE id = :a' USING 1 AS b")
    assert len(stored(shop)) == 2
