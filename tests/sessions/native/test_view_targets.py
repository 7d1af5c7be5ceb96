"""DELETE, UPDATE and MERGE that name a temporary view of a Delta table."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from lakebed.errors import InvalidArgumentError

MERGE = (
    "MERGE INTO v USING (SELECT 1 AS id, 'new' AS s UNION ALL SELECT 7, 'seven') n ON v.id = n.id "
    "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
)
CHANGES = {
    "DELETE FROM v WHERE v.id = 1": [(2, "b")],
    "DELETE FROM v AS x WHERE x.id = (SELECT max(id) FROM v)": [(1, "a")],
    "UPDATE v SET s = upper(s) WHERE id > 1": [(1, "a"), (2, "B")],
    MERGE: [(1, "new"), (2, "b"), (7, "seven")],
}


@pytest.fixture
def orders(spark: SparkSession) -> Iterator[SparkSession]:
    spark.sql("CREATE TABLE viewed (id INT, s STRING) USING delta")
    spark.sql("INSERT INTO viewed VALUES (1, 'a'), (2, 'b')")
    yield spark
    spark.sql("DROP VIEW IF EXISTS v")
    spark.sql("DROP TABLE viewed")


def rows(spark: SparkSession) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in spark.table("viewed").select("id", "s").collect())


@pytest.mark.parametrize("statement", CHANGES)
def test_a_view_of_sql_stands_for_its_table(orders: SparkSession, statement: str) -> None:
    orders.sql("CREATE TEMP VIEW v AS SELECT * FROM (SELECT * FROM viewed AS one) AS two")
    orders.sql(statement)
    assert rows(orders) == CHANGES[statement]


@pytest.mark.parametrize("statement", CHANGES)
def test_a_view_of_a_frame_stands_for_its_table(orders: SparkSession, statement: str) -> None:
    orders.table("viewed").createTempView("v")
    orders.sql(statement)
    assert rows(orders) == CHANGES[statement]


def test_a_view_of_a_path_stands_for_its_table(orders: SparkSession) -> None:
    [place] = orders.sql("DESCRIBE DETAIL viewed").collect()
    orders.read.format("delta").load(place.location).createTempView("v")
    orders.sql("DELETE FROM v WHERE id = 1")
    assert rows(orders) == [(2, "b")]


def test_columns_with_mapped_names_are_found_through_a_view(orders: SparkSession) -> None:
    orders.sql("ALTER TABLE viewed SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    orders.sql("ALTER TABLE viewed RENAME COLUMN s TO text")
    orders.sql("CREATE TEMP VIEW v AS SELECT * FROM viewed")
    orders.sql("UPDATE v SET text = 'x' WHERE text = 'a'")
    found = orders.table("viewed").select("id", "text").collect()
    assert sorted(tuple(row) for row in found) == [(1, "x"), (2, "b")]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM viewed WHERE id > 1",
        "SELECT id AS s, s AS id FROM viewed",
        "SELECT id + 1 AS id, s FROM viewed",
        "SELECT *, 1 AS one FROM viewed",
        "SELECT DISTINCT * FROM viewed",
        "SELECT one.* FROM viewed AS one JOIN viewed AS other USING (id)",
        "SELECT * FROM viewed VERSION AS OF 1",
    ],
)
def test_a_view_that_shows_something_else_is_refused(orders: SparkSession, query: str) -> None:
    orders.sql(f"CREATE TEMP VIEW v AS {query}")
    with pytest.raises(InvalidArgumentError, match="its rows cannot be changed"):
        orders.sql("DELETE FROM v WHERE id = 1")
    assert rows(orders) == [(1, "a"), (2, "b")]


def test_what_a_view_hides_cannot_be_named(orders: SparkSession) -> None:
    orders.sql("CREATE TEMP VIEW v AS SELECT id FROM viewed")
    orders.sql("DELETE FROM v WHERE id = 1")
    for statement in ("DELETE FROM v WHERE s = 'b'", "UPDATE v SET id = 0 WHERE v.s = 'b'", MERGE):
        with pytest.raises(InvalidArgumentError, match="does not show"):
            orders.sql(statement)
    assert rows(orders) == [(2, "b")]
