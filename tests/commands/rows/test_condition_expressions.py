"""Conditions and values of all kinds: a DELETE takes the rows that a query finds with them.

Spark resolves them before Lakebed gets them, and Lakebed reads the table by a plan of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CONDITIONS = [
    "id BETWEEN 2 AND 4",
    "id NOT BETWEEN 2 AND 4",
    "nullif(id, 3) IS NULL",
    "s BETWEEN 'b' AND 'd' AND k BETWEEN 0 AND 1",
    "id + k BETWEEN k AND id * 2",
    "nvl(s, 'none') = 'none'",
    "nvl2(s, k, 7) = 7",
    "ifnull(x, 0) > 1",
    "coalesce(s, 'z') > 'b'",
    "if(id > 3, s, 'a') = 'a'",
    "CASE WHEN k = 1 THEN id > 2 ELSE s IS NULL END",
    "CASE id WHEN 1 THEN true WHEN 2 THEN false END",
    "id IN (1, 3, 5)",
    "id IN (1,2,3,4,6,7,8,9,10,11,12,13)",
    "id NOT IN (1, 3)",
    "(k, k + 1) IN (SELECT 1, 2)",
    "s LIKE 'a%'",
    "s NOT LIKE '%b%'",
    "s ILIKE 'A%'",
    "s RLIKE '^[ab]'",
    "s LIKE ANY ('a%', 'b%')",
    "s LIKE ALL ('%a%', '%')",
    "startswith(s, 'a') OR contains(s, 'c')",
    "left(s, 1) = 'b'",
    "try_divide(id, k) IS NULL",
    "id <=> 3",
    "s <=> NULL",
    "s IS DISTINCT FROM 'a'",
    "NOT (k = 1 AND id > 2)",
    "(k = 1) != (id > 3)",
    "st.a > 2",
    "st IS NOT NULL AND st.b = 'y'",
    "arr[0] = 1",
    "element_at(arr, 1) = 2",
    "array_contains(arr, 3)",
    "exists(arr, e -> e > k + 2)",
    "size(filter(arr, e -> e % 2 = 1)) = 1",
    "aggregate(arr, 0L, (a, e) -> a + e) > 4",
    "mp['x'] = 1",
    "transform_values(mp, (key, v) -> v + id)['x'] = 3",
    "d BETWEEN DATE '2020-01-02' AND DATE '2020-01-03'",
    "d > '2020-01-03'",
    "year(d) = 2020 AND day(d) % 2 = 0",
    "date_add(d, 1) = DATE '2020-01-03'",
    "date_trunc('MONTH', ts) = TIMESTAMP '2020-01-01 00:00:00'",
    "extract(HOUR FROM ts) BETWEEN 1 AND 2",
    "ts >= '2020-01-01 02:00:00'",
    "CAST(id AS STRING) = '4'",
    "try_cast(concat(id, s) AS INT) IS NULL AND k = 0",
    "dec BETWEEN 1 AND 2.5",
    "x = double('NaN')",
    "isnan(x)",
    "hash(id, s) % 2 = 0",
    "to_json(st) LIKE '%y%'",
    "concat_ws('-', s, k) = 'a-1'",
    "zeroifnull(k) = 0",
    "greatest(id, k, 3) = 3",
    "id = (SELECT max(id) FROM other)",
    "id IN (SELECT id FROM other WHERE other.id BETWEEN 2 AND 9)",
    "EXISTS (SELECT 1 FROM other o WHERE o.id BETWEEN tbl.id AND tbl.id + 1)",
    "NOT EXISTS (SELECT 1 FROM other o WHERE nullif(o.id, tbl.id) IS NULL)",
    "id > (SELECT count(*) FROM other WHERE other.id < 4)",
]


@pytest.fixture(scope="module")
def rows(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The path of a table that the tests copy."""
    path = str(tmp_path_factory.mktemp("conditions") / "rows")
    spark.sql(
        """SELECT * FROM VALUES
        (1L, 1, 'a', named_struct('a', 1L, 'b', 'x'), array(1, 2), map('x', 1L),
         DATE '2020-01-01', TIMESTAMP '2020-01-01 01:00:00', 1.5D, 1.50BD),
        (2L, 0, 'b', named_struct('a', 2L, 'b', 'y'), array(2, 3), map('x', 1L, 'y', 2L),
         DATE '2020-01-02', TIMESTAMP '2020-01-01 02:00:00', double('NaN'), 2.50BD),
        (3L, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
        (4L, NULL, 'abc', named_struct('a', 4L, 'b', 'y'), array(3), map('y', 4L),
         DATE '2020-01-04', TIMESTAMP '2020-01-01 04:00:00', -0.0D, -1.00BD),
        (5L, 0, 'cb', named_struct('a', NULL, 'b', NULL), array(1, 5), map(),
         DATE '2021-01-04', TIMESTAMP '2021-02-01 04:00:00', 0.5D, 2.51BD)
        AS t(id, k, s, st, arr, mp, d, ts, x, dec)"""
    ).repartition(2).write.format("delta").save(path)
    spark.sql("SELECT * FROM VALUES (2L), (3L), (6L) AS t(id)").createOrReplaceTempView("other")
    yield path
    spark.catalog.dropTempView("other")


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_change_of_rows_meets_those_that_a_query_finds(
    spark: SparkSession, rows: str, tmp_path: Path, condition: str
) -> None:
    copy = str(tmp_path / "copy")
    spark.read.format("delta").load(rows).write.format("delta").save(copy)
    found = {
        row.id
        for row in spark.sql(f"SELECT id FROM delta.`{rows}` AS tbl WHERE {condition}").collect()
    }
    assert found != {1, 2, 3, 4, 5}, "the case shows nothing"
    spark.sql(f"UPDATE delta.`{copy}` AS tbl SET s = 'changed' WHERE {condition}")
    changed = spark.read.format("delta").load(copy).where("s = 'changed'").select("id").collect()
    assert {row.id for row in changed} == found
    if found:
        spark.sql(f"RESTORE delta.`{copy}` TO VERSION AS OF 0")
    spark.sql(f"DELETE FROM delta.`{copy}` AS tbl WHERE {condition}")
    left = spark.read.format("delta").load(copy).select("id").collect()
    assert {row.id for row in left} == {1, 2, 3, 4, 5} - found


def test_values_of_an_update_and_of_a_merge_may_use_between_and_nullif(
    spark: SparkSession, rows: str, tmp_path: Path
) -> None:
    copy = str(tmp_path / "copy")
    spark.read.format("delta").load(rows).select("id", "k").write.format("delta").save(copy)
    spark.sql(f"UPDATE delta.`{copy}` SET k = nullif(k, 1) WHERE nullif(k, 0) IS NOT NULL")
    spark.sql(
        f"""MERGE INTO delta.`{copy}` t USING other s
        ON t.id BETWEEN s.id AND s.id AND nullif(s.id, 3) IS NOT NULL
        WHEN MATCHED AND s.id BETWEEN 1 AND 2 THEN UPDATE SET k = nullif(s.id, 7) + 5
        WHEN NOT MATCHED AND s.id BETWEEN 6 AND 7 THEN INSERT (id, k) VALUES (s.id, nullif(9, s.id))
        WHEN NOT MATCHED BY SOURCE AND t.id BETWEEN 4 AND 4 THEN DELETE"""
    )
    left = spark.read.format("delta").load(copy).orderBy("id").collect()
    assert [tuple(row) for row in left] == [(1, None), (2, 7), (3, None), (5, 0), (6, 9)]


def test_what_would_be_evaluated_twice_is_refused(
    spark: SparkSession, rows: str, tmp_path: Path
) -> None:
    copy = str(tmp_path / "copy")
    spark.read.format("delta").load(rows).write.format("delta").save(copy)
    with pytest.raises(Exception, match="not deterministic"):
        spark.sql(f"UPDATE delta.`{copy}` SET x = nullif(rand(), 0.5)")
    assert spark.sql(f"DESCRIBE HISTORY delta.`{copy}`").count() == 1
