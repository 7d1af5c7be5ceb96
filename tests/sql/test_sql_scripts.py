"""Scripts, functions of SQL and EXECUTE IMMEDIATE over Delta tables, in a classic session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, ArithmeticException, ParseException
from pyspark.sql import SparkSession

import lakebed
from lakebed.errors import (
    ConstraintViolationError,
    SqlError,
    TableNotFoundError,
    VersionNotFoundError,
)
from lakebed.spark.native.table_files import TableFiles

Rows = list[tuple[Any, ...]]


@pytest.fixture
def shop(spark: SparkSession) -> Iterator[SparkSession]:
    """The current database has the table `orders` with the ids 1 and 2."""
    # Off by default in 4.0.
    spark.conf.set("spark.sql.scripting.enabled", "true")
    spark.sql("CREATE DATABASE scripts")
    spark.sql("USE scripts")
    spark.sql(
        "CREATE TABLE orders (id INT, p STRING, CONSTRAINT small CHECK (id < 1000)) USING delta"
    )
    spark.sql("INSERT INTO orders VALUES (1, 'a'), (2, 'b')")
    yield spark
    spark.sql("USE default")
    spark.sql("DROP DATABASE scripts CASCADE")
    spark.conf.unset("spark.sql.scripting.enabled")


def rows(spark: SparkSession, text: str, args: Any = None) -> Rows:
    return [tuple(row) for row in spark.sql(text, args).collect()]


def stored(spark: SparkSession, name: str = "orders") -> Rows:
    """What the standalone reader finds in a table."""
    location = spark.sql(f"DESCRIBE DETAIL {name}").first()["location"]
    table = lakebed.open(location.removeprefix("file:")).to_arrow()
    return sorted(tuple(row.values()) for row in table.to_pylist())


def test_a_script_writes_in_loops_and_reads_what_it_has_written(shop: SparkSession) -> None:
    script = """
    BEGIN
      DECLARE n INT DEFAULT 10;
      WHILE n < 12 DO
        INSERT INTO orders VALUES (n, "it's; ü");
        SET n = n + 1;
      END WHILE;
      INSERT INTO orders SELECT max(id) + 1, 'last' FROM orders;
      UPDATE orders SET p = 'twelve' WHERE id = n;
      DELETE FROM orders WHERE id = n - 2;
      MERGE INTO orders USING (SELECT n + 1 AS id) s ON orders.id = s.id
        WHEN NOT MATCHED THEN INSERT (id, p) VALUES (s.id, 'merged');
      IF (SELECT count(*) FROM orders) = 5 THEN
        SELECT id, p, (SELECT count(*) FROM orders VERSION AS OF 1) FROM orders ORDER BY id;
      ELSE
        SELECT 'wrong';
      END IF;
    END"""
    assert rows(shop, script) == [
        (1, "a", 2),
        (2, "b", 2),
        (11, "it's; ü", 2),
        (12, "twelve", 2),
        (13, "merged", 2),
    ]
    assert [each[0] for each in stored(shop)] == [1, 2, 11, 12, 13]


def test_a_script_makes_fills_and_drops_a_table(shop: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "it's; ü"
    script = f"""
    BEGIN
      CREATE TABLE made (a INT) USING delta TBLPROPERTIES (delta.enableChangeDataFeed = true);
      INSERT INTO made VALUES (1), (2);
      WITH more AS (SELECT 5 AS a) INSERT INTO made SELECT a FROM more;
      CREATE TABLE delta.`{folder}` USING delta AS SELECT a * 10 AS b FROM made;
      CREATE TABLE other USING parquet AS SELECT * FROM made WHERE a > 1;
      INSERT INTO other SELECT b FROM delta.`{folder}@v0`;
      CREATE OR REPLACE TEMPORARY VIEW seen AS SELECT a FROM made;
      INSERT INTO made VALUES (7);
      SELECT (SELECT count(*) FROM seen), (SELECT count(*) FROM made@v1),
        (SELECT sum(a) FROM other), (SELECT count(*) FROM table_changes('made', 2));
    END"""
    assert rows(shop, script) == [(4, 2, 5 + 2 + 80, 2)]
    assert stored(shop, "made") == [(1,), (2,), (5,), (7,)]
    assert lakebed.open(folder).to_arrow().num_rows == 3
    shop.sql("BEGIN DROP VIEW seen; DROP TABLE made; DROP TABLE IF EXISTS made; END")
    with pytest.raises(AnalysisException):
        shop.table("made")


def test_loops_over_rows_and_parameters_of_scripts(shop: SparkSession) -> None:
    script = """
    BEGIN
      FOR r AS SELECT id, p FROM orders ORDER BY id DO
        INSERT INTO orders VALUES (r.id + :by, r.p || :mark);
      END FOR;
      SELECT id, p FROM orders WHERE id > :by ORDER BY id;
    END"""
    found = rows(shop, script, {"by": 100, "mark": "'; --"})
    assert found == [(101, "a'; --"), (102, "b'; --")]


def test_an_error_ends_the_script_and_leaves_the_table_as_it_was(shop: SparkSession) -> None:
    with pytest.raises(ConstraintViolationError):
        shop.sql(
            "BEGIN INSERT INTO orders VALUES (3, 'c'); INSERT INTO orders VALUES (5000, 'x'); END"
        )
    assert stored(shop) == [(1, "a"), (2, "b"), (3, "c")]
    with pytest.raises(ArithmeticException, match="DIVIDE_BY_ZERO"):
        shop.sql("BEGIN UPDATE orders SET id = 1 / (id - id); END")
    with pytest.raises(AnalysisException, match=r"UNRESOLVED_COLUMN.*nothing_like_it"):
        shop.sql("BEGIN DELETE FROM orders WHERE nothing_like_it = 1; END")
    with pytest.raises(VersionNotFoundError):
        shop.sql("BEGIN SELECT * FROM orders VERSION AS OF 99; END")
    with pytest.raises(TableNotFoundError):
        shop.sql("BEGIN SELECT * FROM delta.`/there/is/nothing`; END")
    with pytest.raises(ParseException):
        shop.sql("BEGIN OPTIMIZ orders; END")
    assert stored(shop) == [(1, "a"), (2, "b"), (3, "c")]


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO orders VALUES (5000, 'too large')",
        "SELECT * FROM orders VERSION AS OF 99",
        "UPDATE orders SET id = 1 / (id - id)",
        "INSERT INTO orders SELECT nothing FROM orders",
    ],
)
def test_handlers_catch_errors_of_lakebed_and_of_spark(shop: SparkSession, statement: str) -> None:
    script = f"""
    BEGIN
      DECLARE EXIT HANDLER FOR SQLEXCEPTION
      BEGIN
        INSERT INTO orders VALUES (3, 'handler');
        SELECT count(*) FROM orders;
      END;
      {statement};
      INSERT INTO orders VALUES (4, 'not reached');
    END"""
    assert rows(shop, script) == [(3,)]
    assert stored(shop) == [(1, "a"), (2, "b"), (3, "handler")]


def test_functions_read_the_newest_version(shop: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "ü"
    lakebed.write(path, pa.table({"x": [7]}))
    shop.sql(
        "CREATE FUNCTION orders_until(most INT) RETURNS BIGINT "
        "RETURN SELECT count(*) FROM orders WHERE id <= most"
    )
    shop.sql(
        "CREATE TEMPORARY FUNCTION after(least INT) RETURNS TABLE (id INT, x BIGINT) "
        f"RETURN SELECT id, x FROM orders JOIN delta.`{path}` WHERE id > least"
    )
    shop.sql(
        "CREATE VIEW counted AS SELECT orders_until(100) AS n, (SELECT max(id) FROM orders) AS m"
    )
    try:
        assert rows(shop, "SELECT orders_until(1), n, m FROM counted") == [(1, 2, 2)]
        shop.sql("INSERT INTO orders VALUES (3, 'c')")
        assert rows(shop, "SELECT orders_until(1), n, m FROM counted") == [(1, 3, 3)]
        assert rows(shop, "SELECT id, x FROM after(1) ORDER BY id") == [(2, 7), (3, 7)]
        assert rows(shop, "SELECT id, orders_until(id) FROM orders ORDER BY id") == [
            (1, 1),
            (2, 2),
            (3, 3),
        ]
        assert shop.sql("SELECT id FROM orders").selectExpr("orders_until(2)").first() == (2,)
    finally:
        shop.sql("DROP TEMPORARY FUNCTION after")
        shop.sql("DROP FUNCTION orders_until")


def test_a_function_and_the_query_around_it_see_one_version(
    shop: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    location = shop.sql("DESCRIBE DETAIL orders").first()["location"].removeprefix("file:")
    shop.sql("CREATE FUNCTION total() RETURNS BIGINT RETURN SELECT count(*) FROM orders")
    plain = TableFiles._chosen

    def late(self: TableFiles, kind: str, names: list[str]) -> Any:
        found = plain(self, kind, names)
        lakebed.write(location, pa.table({"id": pa.array([9], pa.int32()), "p": ["late"]}))
        return found

    monkeypatch.setattr(TableFiles, "_chosen", late)
    assert rows(shop, "SELECT total(), (SELECT count(*) FROM orders)") == [(2, 2)]
    assert rows(shop, "SELECT total(), total() + total()") == [(3, 6)]
    assert rows(shop, "SELECT total()") == [(4,)]


def test_names_in_functions_are_looked_up_as_spark_does(shop: SparkSession) -> None:
    """A table of Spark's own beside each says where Spark would look."""
    shop.sql("CREATE TABLE plain USING parquet AS SELECT 'scripts' AS at")
    shop.sql("CREATE TABLE ours USING delta AS SELECT 'scripts' AS at")
    shop.sql(
        "CREATE FUNCTION both() RETURNS STRING "
        "RETURN SELECT max(a.at || ' ' || b.at) FROM plain a, ours b"
    )
    shop.sql("CREATE DATABASE elsewhere")
    try:
        shop.sql("CREATE TABLE elsewhere.plain USING parquet AS SELECT 'elsewhere' AS at")
        shop.sql("CREATE TABLE elsewhere.ours USING delta AS SELECT 'elsewhere' AS at")
        shop.sql("USE elsewhere")
        ((found,),) = rows(shop, "SELECT scripts.both()")
        assert len(set(found.split())) == 1
        shop.sql("CREATE TEMPORARY VIEW ours AS SELECT 'view' AS at")
        assert rows(shop, "BEGIN SELECT max(at) FROM ours; END") == [("view",)]
        assert rows(shop, "BEGIN WITH ours AS (SELECT 'with' AS at) SELECT * FROM ours; END") == [
            ("with",)
        ]
    finally:
        shop.sql("USE scripts")
        shop.sql("DROP VIEW IF EXISTS ours")
        shop.sql("DROP DATABASE elsewhere CASCADE")


def test_execute_immediate_reads_and_writes(shop: SparkSession) -> None:
    shop.sql("DECLARE OR REPLACE VARIABLE most INT")
    shop.sql(
        "DECLARE OR REPLACE VARIABLE text STRING DEFAULT 'SELECT max(id) FROM orders WHERE id < ?'"
    )
    try:
        shop.sql("EXECUTE IMMEDIATE text INTO most USING 100")
        assert rows(shop, "SELECT most") == [(2,)]
        shop.sql("EXECUTE IMMEDIATE 'WITH o AS (TABLE orders) SELECT min(id) FROM o' INTO most")
        assert rows(shop, "SELECT most") == [(1,)]
        named = "EXECUTE IMMEDIATE 'SELECT p FROM orders WHERE id = :id' USING :v AS id"
        assert rows(shop, named, {"v": 2}) == [("b",)]
        deleted = shop.sql("EXECUTE IMMEDIATE 'DELETE FROM orders WHERE id < ?' USING 2")
        assert deleted.collect() == [(1,)]
        insert = (
            "EXECUTE IMMEDIATE 'INSERT INTO orders VALUES (:a, :b)' USING 7 AS a, 'it\\'s' AS b"
        )
        shop.sql(insert)
        assert stored(shop) == [(2, "b"), (7, "it's")]
        for text in ("DELETE FROM orders", "RESTORE TABLE orders TO VERSION AS OF 0"):
            with pytest.raises(AnalysisException, match="INVALID_STATEMENT_FOR_EXECUTE_INTO"):
                shop.sql(f"EXECUTE IMMEDIATE '{text}' INTO most")
        assert len(stored(shop)) == 2
    finally:
        shop.sql("DROP TEMPORARY VARIABLE most")
        shop.sql("DROP TEMPORARY VARIABLE text")


def test_execute_immediate_runs_what_spark_does_not_know(shop: SparkSession) -> None:
    shop.sql("INSERT INTO orders VALUES (3, 'c')")
    newest = rows(shop, "EXECUTE IMMEDIATE 'DESCRIBE HISTORY orders LIMIT 1'")
    assert newest[0][0] == 2
    metrics = shop.sql("EXECUTE IMMEDIATE 'OPTIMIZE orders'").first()
    assert metrics["metrics"]["numFilesRemoved"] > 1
    # Values for statements that Spark does not know come with them from 4.1 on.
    version = "1'" if shop.version.startswith("4.0") else "?' USING 1"
    shop.sql(f"EXECUTE IMMEDIATE 'RESTORE TABLE orders TO VERSION AS OF {version}")
    script = """
    BEGIN
      DECLARE text STRING DEFAULT 'INSERT INTO orders VALUES (?, ?)';
      EXECUTE IMMEDIATE text USING 8, 'eight';
      EXECUTE IMMEDIATE 'OPTIMIZE orders';
      EXECUTE IMMEDIATE 'SELECT * FROM orders WHERE id > 1 ORDER BY id';
    END"""
    assert rows(shop, script) == [(2, "b"), (8, "eight")]
    assert stored(shop) == [(1, "a"), (2, "b"), (8, "eight")]
    with pytest.raises(ParseException):
        shop.sql("EXECUTE IMMEDIATE 'OPTIMIZ orders'")


def test_a_script_runs_statements_that_spark_does_not_know(shop: SparkSession) -> None:
    script = """
    -- 𝒳: one character, two of Java
    BEGIN
      DECLARE n INT DEFAULT 0;
      DECLARE EXIT HANDLER FOR SQLEXCEPTION
      BEGIN
        RESTORE TABLE orders TO VERSION AS OF 0;
      END;
      INSERT INTO orders VALUES (3, '𝒴; OPTIMIZE nothing;');
      OPTIMIZE orders;
      WHILE n < 2 DO
        SET n = CASE WHEN n < 0 THEN n ELSE n + 1 END;
        IF n = 1 THEN
          RESTORE TABLE orders
            TO VERSION AS OF :version;
        ELSE
          DELETE FROM orders WHERE id = 2;
          VACUUM orders;
        END IF;
      END WHILE;
      INSERT INTO orders VALUES (5000, 'too large');
      OPTIMIZE orders;
    END"""
    shop.sql(script, {"version": 1})
    history = shop.sql("DESCRIBE HISTORY orders").collect()
    done = [each["operation"] for each in reversed(history)][3:]
    assert done == ["OPTIMIZE", "RESTORE", "DELETE", "VACUUM START", "VACUUM END", "RESTORE"]
    assert history[0]["operationParameters"]["version"] == "0"
    assert stored(shop) == []


@pytest.mark.parametrize("value", [1, 2, 3])
@pytest.mark.parametrize(
    "text",
    [
        "IF n = 1 THEN OPTIMIZE orders; ELSEIF n = 2 THEN DELETE FROM orders; ELSE {last}; END IF",
        "CASE n WHEN 1 THEN OPTIMIZE orders; WHEN 2 THEN DELETE FROM orders; ELSE {last}; END CASE",
        "CASE WHEN n = 1 THEN OPTIMIZE orders; WHEN n = 2 THEN DELETE FROM orders; ELSE {last}; "
        "END CASE",
    ],
    ids=["IF", "CASE n", "CASE"],
)
def test_a_script_takes_the_right_branch(shop: SparkSession, text: str, value: int) -> None:
    shop.sql("INSERT INTO orders VALUES (3, 'c')")
    last = "RESTORE TABLE orders TO VERSION AS OF 0"
    shop.sql(f"BEGIN DECLARE n INT DEFAULT {value}; {text.format(last=last)}; END")
    history = shop.sql("DESCRIBE HISTORY orders").collect()
    assert history[0]["version"] == 3
    assert history[0]["operation"] == {1: "OPTIMIZE", 2: "DELETE", 3: "RESTORE"}[value]


@pytest.mark.parametrize("word", ["HISTORY", "history", "DETAIL"])
def test_a_script_describes_tables(shop: SparkSession, word: str) -> None:
    """Rows of commands are no result of a script, in Spark as here."""
    assert shop.sql(f"BEGIN DESCRIBE {word} orders; END").columns == []
    with pytest.raises(TableNotFoundError):
        shop.sql(f"BEGIN DESC {word} missing; END")


def test_a_script_creates_by_path_and_inserts_defaults(shop: SparkSession, tmp_path: Path) -> None:
    shop.sql(
        f"""BEGIN
          CREATE TABLE delta.`{tmp_path}/t` (a INT, i BIGINT GENERATED ALWAYS AS IDENTITY);
          INSERT INTO delta.`{tmp_path}/t` VALUES (1, DEFAULT);
          CREATE TABLE delta.`{tmp_path}/copy` SHALLOW CLONE delta.`{tmp_path}/t`;
        END"""
    )
    assert lakebed.open(tmp_path / "t").to_arrow().to_pylist() == [{"a": 1, "i": 1}]
    assert lakebed.open(tmp_path / "copy").to_arrow().to_pylist() == [{"a": 1, "i": 1}]


def test_a_script_replaces_and_merges_rows(shop: SparkSession) -> None:
    shop.sql(
        """BEGIN
          INSERT INTO orders AS o REPLACE ON o.id = s.k (SELECT 2 AS k, 'new') AS s;
          MERGE INTO orders o USING (VALUES (1, 'one')) AS s(id, p) ON o.id = s.id
            WHEN MATCHED THEN UPDATE SET p = s.p;
        END"""
    )
    assert stored(shop) == [(1, "one"), (2, "new")]


@pytest.mark.parametrize(
    "script",
    [
        "BEGIN OPTIMIZE orders; SELEC 1; END",
        "BEGIN OPTIMIZE orders; SELECT *; END",
        "BEGIN SELECT CASE WHEN true THEN OPTIMIZE orders END; END",
        "BEGIN OPTIMIZE orders",
        "BEGIN DELETE FROM orders; MERGE INTO orders USING range(3) r ON orders.id = r.id; END",
    ],
)
def test_a_script_with_an_error_runs_nothing(shop: SparkSession, script: str) -> None:
    with pytest.raises(ParseException):
        shop.sql(script)
    with pytest.raises(SqlError):
        shop.sql("BEGIN DELETE FROM orders; OPTIMIZE orders ZORDER OF (id); END")
    assert stored(shop) == [(1, "a"), (2, "b")]


def test_other_formats_are_left_alone_and_new_sessions_run_scripts(
    shop: SparkSession, tmp_path: Path
) -> None:
    script = f"""
    BEGIN
      CREATE TABLE parquet_one (id INT) USING parquet LOCATION '{tmp_path}/p';
      INSERT INTO parquet_one VALUES (1), (2);
      SELECT count(*) FROM parquet_one;
    END"""
    assert rows(shop, script) == [(2,)]
    assert rows(shop, "BEGIN SHOW COLUMNS IN parquet_one; DROP TABLE parquet_one; END") == []
    other = shop.newSession()
    other.conf.set("spark.sql.scripting.enabled", "true")
    count = "BEGIN SELECT count(*) FROM scripts.orders; END"
    assert other.sql(count).first() == (2,)
    assert lakebed.enable(other).sql(count).first() == (2,)
