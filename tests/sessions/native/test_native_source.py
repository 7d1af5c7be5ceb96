"""Delta as a source and a catalog of Spark: what reaches Lakebed without any patch of PySpark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.readwriter import DataFrameReader, DataFrameWriter

import lakebed
from lakebed.errors import InvalidArgumentError, UnsupportedSparkError
from lakebed.sessions.native.python_side import ANSWERS, answer_of
from lakebed.spark.internals.startup.versions import source_folders


@pytest.fixture
def shop(spark: SparkSession) -> Iterator[SparkSession]:
    spark.sql("CREATE DATABASE native_db")
    spark.sql("USE native_db")
    spark.sql("CREATE TABLE orders (id BIGINT, v STRING) USING delta")
    spark.sql("INSERT INTO orders VALUES (1, 'a'), (2, 'b')")
    yield spark
    spark.sql("USE default")
    spark.sql("DROP DATABASE native_db CASCADE")


def stored(spark: SparkSession, name: str = "orders") -> list[tuple[object, ...]]:
    """What the standalone reader finds."""
    location = spark.sql(f"DESCRIBE DETAIL {name}").first()["location"]  # type: ignore[index]
    return sorted(tuple(row.values()) for row in lakebed.open(location).to_arrow().to_pylist())


@pytest.mark.parametrize("what", ANSWERS)
def test_every_question_of_java_has_a_function_that_answers(what: str) -> None:
    assert callable(answer_of(what))


def test_nothing_of_pyspark_is_replaced(spark: SparkSession) -> None:
    assert type(spark.read) is DataFrameReader
    assert type(spark.range(1).write) is DataFrameWriter


def test_queries_use_sparks_own_reader(shop: SparkSession) -> None:
    plan = shop.table("orders").where("id > 1")._jdf.queryExecution().executedPlan().toString()
    assert "FileScan parquet" in plan


def test_merge_into_of_a_data_frame(shop: SparkSession) -> None:
    source = shop.range(2, 4).selectExpr("id", "'new' AS v").alias("s")
    merge = source.mergeInto("orders", F.expr("orders.id = s.id"))
    merge.whenMatched().updateAll().whenNotMatched().insertAll().merge()
    assert stored(shop) == [(1, "a"), (2, "new"), (3, "new")]


def test_new_sessions_know_the_tables(shop: SparkSession) -> None:
    other = shop.newSession()
    other.sql("DELETE FROM native_db.orders WHERE id = 1")
    assert other.table("native_db.orders").collect() == [(2, "b")]
    assert stored(shop) == [(2, "b")]


def test_subqueries_of_changes_may_read_the_table_itself(shop: SparkSession) -> None:
    shop.sql("UPDATE orders SET v = (SELECT max(o.v) FROM orders o WHERE o.id >= orders.id)")
    assert stored(shop) == [(1, "b"), (2, "b")]
    shop.sql("DELETE FROM orders AS t WHERE EXISTS (SELECT 1 FROM orders o WHERE o.id > t.id)")
    assert stored(shop) == [(2, "b")]


def test_a_delete_whose_condition_was_forgotten_is_refused(shop: SparkSession) -> None:
    with pytest.raises(lakebed.LakebedError, match="behind WHERE is missing"):
        shop.sql("DELETE FROM orders WHERE")
    assert len(stored(shop)) == 2


def test_a_path_without_a_table_does_not_exist(spark: SparkSession, tmp_path: Path) -> None:
    assert not spark.catalog.tableExists(f"delta.`{tmp_path}/nothing`")
    with pytest.raises(lakebed.LakebedError, match="is not a Delta table"):
        spark.read.format("delta").load(str(tmp_path / "nothing"))


def test_a_write_without_a_path_is_refused(spark: SparkSession) -> None:
    with pytest.raises(InvalidArgumentError, match="is not the path of a table"):
        spark.range(1).write.format("delta").save()


def test_statements_of_spark_keep_their_errors(shop: SparkSession) -> None:
    with pytest.raises(AnalysisException, match="UNRESOLVED_COLUMN"):
        shop.sql("UPDATE orders SET nothing = 1")


def test_each_known_spark_has_its_java_sources() -> None:
    assert source_folders("4.0.1") == ("all_versions", "spark_4_0")
    assert source_folders("4.3.0") == ("all_versions", "spark_4_1")
    with pytest.raises(UnsupportedSparkError, match=r"Spark 4\.0 or newer.*3\.5\.7"):
        source_folders("3.5.7")
