"""Columns and types of a stream's batches beside those of the table."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from batch_feeds import Feed, run, writer
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import lakebed
from lakebed.errors import SchemaMismatchError
from testkit.readers.log_json import operations, schema_json
from testkit.readers.other_readers import read_elsewhere
from testkit.tables.spark_tables import settings


@pytest.fixture
def feed(tmp_path: Path) -> Feed:
    made = Feed(tmp_path / "in")
    made.add([{"id": 1, "v": "17"}])
    return made


def rows(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = read_elsewhere(path).to_pylist()
    return found


# --- columns --------------------------------------------------------------------------------------


def test_a_new_column_is_refused_until_the_stream_merges_schemas(
    spark: SparkSession, feed: Feed, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    lakebed.create(path, {"id": "bigint"})
    frame = feed.frame(spark, "id long, v string")
    with pytest.raises(SchemaMismatchError, match="the table does not have it"):
        run(writer(frame, tmp_path / "c"), path)
    assert operations(path) == ["CREATE TABLE"]
    run(writer(frame, tmp_path / "c", mergeSchema="true"), path)
    assert rows(path) == [{"id": 1, "v": "17"}]


def test_columns_that_the_stream_lacks_are_null(
    spark: SparkSession, feed: Feed, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    lakebed.create(path, {"w": "int", "ID": "bigint", "v": "string"})
    run(writer(feed.frame(spark, "id long"), tmp_path / "c"), path)
    assert rows(path) == [{"w": None, "ID": 1, "v": None}]


@pytest.mark.parametrize("mode", ["append", "complete"])
def test_only_complete_output_replaces_the_schema(
    spark: SparkSession, feed: Feed, tmp_path: Path, mode: str
) -> None:
    path = tmp_path / "t"
    lakebed.create(path, {"id": "bigint", "other": "int"})
    frame = feed.frame(spark, "id long, v string")
    stream = writer(frame.groupBy("v").count() if mode == "complete" else frame, tmp_path / "c")
    stream = stream.outputMode(mode).option("overwriteSchema", "true")
    if mode == "append":
        with pytest.raises(SchemaMismatchError):
            run(stream, path)
        assert list(schema_json(path)) == ["id", "other"]
        return
    run(stream, path)
    assert list(schema_json(path)) == ["v", "count"]
    assert rows(path) == [{"v": "17", "count": 1}]


def test_a_replaced_schema_keeps_the_partitioning_of_the_stream(
    spark: SparkSession, feed: Feed, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    lakebed.create(path, {"v": "string", "day": "string"}, partition_by="day")
    counts = feed.frame(spark, "id long, v string").groupBy("v").count()
    stream = writer(counts, tmp_path / "c", overwriteSchema="true").outputMode("complete")
    with pytest.raises(SchemaMismatchError, match="partitioned by"):
        stream.partitionBy("v").start(str(path))
    assert list(schema_json(path)) == ["v", "day"]


@pytest.mark.parametrize("value", ["NULL", "array(NULL)", "named_struct('x', NULL)"])
def test_void_columns_are_refused(
    spark: SparkSession, feed: Feed, tmp_path: Path, value: str
) -> None:
    path = tmp_path / "t"
    frame = feed.frame(spark, "id long").withColumn("n", F.expr(value))
    with pytest.raises(SchemaMismatchError, match="of type void"):
        run(writer(frame, tmp_path / "c"), path)
    assert not path.exists()


# --- types ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stored", "given", "value", "expected"),
    [
        ("int", "id", "id", 1),
        ("int", "string", "v", 17),
        ("bigint", "int", "cast(id AS int)", 1),
        ("string", "date", "date'2026-01-31'", "2026-01-31"),
        ("decimal(6,2)", "decimal(10,4)", "cast(1.2345 AS decimal(10,4))", Decimal("1.23")),
        ("array<int>", "array<bigint>", "array(id)", [1]),
        ("struct<a:int,b:string>", "struct", "named_struct('B', id, 'a', v)", {"a": 17, "b": "1"}),
        ("struct<a:int,b:string>", "less", "named_struct('a', v)", {"a": 17, "b": None}),
        ("array<struct<a:int>>", "nested", "array(named_struct('a', v))", [{"a": 17}]),
    ],
)
def test_values_are_stored_as_the_types_of_the_table(
    spark: SparkSession,
    feed: Feed,
    tmp_path: Path,
    stored: str,
    given: str,  # noqa: ARG001 - the name of the case
    value: str,
    expected: object,
) -> None:
    path = tmp_path / "t"
    spark.sql(f"CREATE TABLE delta.`{path}` (x {stored}) USING delta")
    frame = feed.frame(spark, "id long, v string").select(F.expr(value).alias("x"))
    run(writer(frame, tmp_path / "c"), path)
    assert rows(path) == [{"x": expected}]


def test_values_of_a_map_are_stored_as_the_types_of_the_table(
    spark: SparkSession, feed: Feed, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    spark.sql(f"CREATE TABLE delta.`{path}` (x MAP<STRING, INT>) USING delta")
    frame = feed.frame(spark, "id long, v string").select(F.expr("map(id, v)").alias("x"))
    run(writer(frame, tmp_path / "c"), path)
    assert rows(path) == [{"x": [("1", 17)]}]


def test_a_partition_value_is_cast_too(spark: SparkSession, feed: Feed, tmp_path: Path) -> None:
    path = tmp_path / "t"
    lakebed.create(path, {"id": "bigint", "v": "int"}, partition_by="v")
    run(writer(feed.frame(spark, "id long, v string"), tmp_path / "c"), path)
    assert rows(path) == [{"id": 1, "v": 17}]


def test_a_value_that_the_type_cannot_hold_ends_the_query_and_changes_nothing(
    spark: SparkSession, feed: Feed, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    lakebed.create(path, {"id": "int"})
    feed.add([{"id": 1 << 40, "v": "x"}])
    stream = writer(feed.frame(spark, "id long"), tmp_path / "c")
    with pytest.raises(StreamingQueryException, match="CAST_OVERFLOW"):
        run(stream, path)
    assert rows(path) == [{"id": 1}]
    # As delta-spark does when the session asks for it.
    with settings(spark, {"spark.sql.storeAssignmentPolicy": "LEGACY"}):
        run(stream, path)
    assert sorted(row["id"] for row in rows(path)) == [0, 1]


def test_types_with_no_cast_between_them_are_refused(
    spark: SparkSession, feed: Feed, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    spark.sql(f"CREATE TABLE delta.`{path}` (x STRUCT<a: INT>) USING delta")
    frame = feed.frame(spark, "id long").select(F.array("id").alias("x"))
    with pytest.raises(StreamingQueryException, match="DATATYPE_MISMATCH"):
        run(writer(frame, tmp_path / "c"), path)
    assert operations(path) == ["CREATE TABLE"]


def test_a_table_that_widens_types_takes_over_those_of_a_stream_that_merges_schemas(
    spark: SparkSession, feed: Feed, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    lakebed.create(path, {"id": "int"}, properties={"delta.enableTypeWidening": "true"})
    frame = feed.frame(spark, "id long")
    run(writer(frame, tmp_path / "c"), path)
    assert schema_json(path)["id"]["type"] == "integer"
    feed.add([{"id": 1 << 40, "v": "x"}])
    run(writer(frame, tmp_path / "c", mergeSchema="true"), path)
    assert schema_json(path)["id"]["type"] == "long"
    assert sorted(lakebed.open(path).to_arrow()["id"].to_pylist()) == [1, 1 << 40]


def test_columns_whose_names_have_dots_and_backticks_are_cast(
    spark: SparkSession, tmp_path: Path
) -> None:
    path, feed = tmp_path / "t", Feed(tmp_path / "in")
    feed.add(pa.table({"a.b": pa.array([1], pa.int64()), "c`d": pa.array(["2"])}))
    spark.sql(
        f"CREATE TABLE delta.`{path}` (`a.b` INT, `c``d` INT) USING delta "
        "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    )
    run(writer(feed.frame(spark, "`a.b` long, `c``d` string"), tmp_path / "c"), path)
    assert lakebed.open(path).to_arrow().to_pylist() == [{"a.b": 1, "c`d": 2}]


def test_columns_that_were_renamed_are_written_under_their_new_names(
    spark: SparkSession, feed: Feed, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    spark.sql(
        f"CREATE TABLE delta.`{path}` (id BIGINT, old STRING) USING delta "
        "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    )
    spark.sql(f"ALTER TABLE delta.`{path}` RENAME COLUMN old TO v")
    run(writer(feed.frame(spark, "id long, v string"), tmp_path / "c"), path)
    assert lakebed.open(path).to_arrow().to_pylist() == [{"id": 1, "v": "17"}]


def test_a_column_that_is_widened_between_two_batches_takes_the_second_as_it_is(
    spark: SparkSession, feed: Feed, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    lakebed.create(path, {"id": "int"}, properties={"delta.enableTypeWidening": "true"})
    stream = writer(feed.frame(spark, "id long"), tmp_path / "c")
    query = stream.trigger(processingTime="0 seconds").start(str(path))
    try:
        query.processAllAvailable()
        spark.sql(f"ALTER TABLE delta.`{path}` ALTER COLUMN id TYPE BIGINT")
        feed.add([{"id": 1 << 40, "v": "x"}])
        query.processAllAvailable()
    finally:
        query.stop()
    assert sorted(lakebed.open(path).to_arrow()["id"].to_pylist()) == [1, 1 << 40]
