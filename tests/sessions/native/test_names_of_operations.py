"""What the history calls writes and row changes, and what is no version at all."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import Row

from lakebed import DeltaTable


@pytest.fixture
def names(spark: SparkSession) -> Iterator[SparkSession]:
    yield spark
    spark.sql("DROP TABLE IF EXISTS noted")


def last(spark: SparkSession) -> Row:
    [found] = spark.sql("DESCRIBE HISTORY noted LIMIT 1").collect()
    return found


def test_save_as_table_creates_and_replaces(names: SparkSession) -> None:
    names.range(3).write.format("delta").saveAsTable("noted")
    assert last(names).operation == "CREATE TABLE AS SELECT"
    assert last(names).operationParameters["isManaged"] == "true"
    names.range(3).write.format("delta").mode("overwrite").saveAsTable("noted")
    assert last(names).operation == "CREATE OR REPLACE TABLE AS SELECT"
    assert last(names).operationParameters["isV1SaveAsTableOverwrite"] == "true"
    names.range(3).write.format("delta").mode("append").saveAsTable("noted")
    assert last(names).operation == "WRITE"


def test_schema_options_are_noted(names: SparkSession) -> None:
    names.range(3).write.format("delta").saveAsTable("noted")
    rows = names.range(3).selectExpr("id", "1 AS n").write.format("delta")
    rows.mode("append").option("mergeSchema", "true").saveAsTable("noted")
    assert last(names).operationParameters["canMergeSchema"] == "true"
    rows.mode("overwrite").option("overwriteSchema", "true").saveAsTable("noted")
    assert last(names).operationParameters["canOverwriteSchema"] == "true"


@pytest.mark.parametrize(
    ("condition", "shown"),
    [
        ("id > 1", "(id > 1)"),
        ("id IS NULL", "isnull(id)"),
        ("s = 'a' AND NOT id = 2", "((s = a) AND NOT (id = 2))"),
        ("true", "true"),
    ],
)
def test_conditions_are_shown_as_spark_prints_them(
    names: SparkSession, condition: str, shown: str
) -> None:
    names.sql(
        "CREATE TABLE noted USING delta AS SELECT 1L AS id, 'a' AS s UNION ALL SELECT NULL, 'b'"
    )
    names.sql("INSERT INTO noted VALUES (5, 'a')")
    names.sql(f"DELETE FROM noted WHERE {condition}")
    assert last(names).operationParameters["predicate"] == f'["{shown}"]'


def test_a_column_as_a_condition_is_shown_as_it_prints(names: SparkSession) -> None:
    names.sql("CREATE TABLE noted USING delta AS SELECT 1L AS id UNION ALL SELECT 2L")
    DeltaTable.forName(names, "noted").delete(F.col("id") == 2)
    assert last(names).operationParameters["predicate"] == '["(id = 2)"]'


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_write_without_rows_is_no_version(names: SparkSession, mode: str) -> None:
    names.sql("CREATE TABLE noted (id BIGINT, p INT) USING delta PARTITIONED BY (p)")
    names.sql("INSERT INTO noted VALUES (1, 1)")
    nothing = names.table("noted").where("false").write.format("delta").mode(mode)
    nothing.option("partitionOverwriteMode", "dynamic").saveAsTable("noted")
    assert last(names).version == 1
    assert names.table("noted").count() == 1


def test_a_new_schema_comes_without_partitions(names: SparkSession) -> None:
    names.sql("CREATE TABLE noted USING delta PARTITIONED BY (p) AS SELECT 1 AS id, 2 AS p")
    rows = names.sql("SELECT 3 AS id, 'new' AS s").write.format("delta").mode("overwrite")
    rows.option("overwriteSchema", "true").saveAsTable("noted")
    detail = DeltaTable.forName(names, "noted").detail().collect()[0]
    assert (detail.partitionColumns, detail.name) == ([], "spark_catalog.default.noted")


def test_a_property_that_is_not_there_can_be_unset(names: SparkSession) -> None:
    names.sql("CREATE TABLE noted (id INT) USING delta")
    names.sql("ALTER TABLE noted UNSET TBLPROPERTIES ('nothing')")
    assert last(names).operation == "UNSET TBLPROPERTIES"


def test_a_table_like_another_may_have_another_format(names: SparkSession) -> None:
    names.sql("CREATE TABLE noted (id INT, s STRING) USING delta")
    names.sql("CREATE TABLE noted_files LIKE noted USING parquet")
    try:
        assert names.table("noted_files").dtypes == [("id", "int"), ("s", "string")]
        described = {row[0]: row[1] for row in names.sql("DESCRIBE EXTENDED noted_files").collect()}
        assert described["Provider"] == "parquet"
    finally:
        names.sql("DROP TABLE noted_files")


def test_optimize_says_what_it_did_along_a_curve(names: SparkSession) -> None:
    names.sql("CREATE TABLE noted (id INT) USING delta")
    for number in (1, 2):
        names.sql(f"INSERT INTO noted VALUES ({number})")
    metrics = names.sql("OPTIMIZE noted ZORDER BY (id)").collect()[0].metrics
    assert (metrics.zOrderStats.inputOtherFiles.num, metrics.zOrderStats.numOutputCubes) == (2, 1)
    assert (metrics.clusteringStats, metrics.numTableColumns) == (None, 1)
    names.sql("CREATE OR REPLACE TABLE noted (id INT) USING delta CLUSTER BY (id)")
    for number in (1, 2):
        names.sql(f"INSERT INTO noted VALUES ({number})")
    stats = names.sql("OPTIMIZE noted").collect()[0].metrics.clusteringStats
    assert (stats.mergedFiles.numFiles, stats.numOutputZCubes) == (2, 1)
    names.sql("INSERT INTO noted VALUES (3)")
    stats = names.sql("OPTIMIZE noted").collect()[0].metrics.clusteringStats
    assert (stats.inputZCubeFiles.numFiles, stats.inputOtherFiles.numFiles) == (1, 1)
