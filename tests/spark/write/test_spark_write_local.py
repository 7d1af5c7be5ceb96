"""Tiny appends: rows that are in the plan are written without a Spark job."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import lakebed
from lakebed.spec.schema import LONG, StructField, StructType
from testkit.readers.other_readers import other_reader
from testkit.tables.spark_tables import create, job_count, save

ROWS = """
    SELECT * FROM VALUES
    (1, 'a', 1.5D, CAST(2.5 AS DECIMAL(10,2)), DATE'2026-01-31',
     TIMESTAMP'2026-01-31 12:00:00.123456',
     TIMESTAMP_NTZ'2026-01-31 02:30:00', X'00FF', TRUE, ARRAY(1, NULL), MAP('k', 1.25D),
     NAMED_STRUCT('x', 1L, 'y', ARRAY('z'))),
    (2, NULL, DOUBLE('NaN'), NULL, DATE'1200-01-01', NULL, NULL, NULL, NULL, NULL, NULL, NULL)
    AS t(id, s, d, n, day, at, local, b, f, l, m, st)
"""


def test_local_rows_are_written_without_a_job(spark: SparkSession, tmp_path: Path) -> None:
    save(spark.range(3).selectExpr("cast(id as int) id"), tmp_path)
    frames = [
        spark.sql("SELECT * FROM VALUES (10), (11) AS t(id)"),
        spark.createDataFrame(pa.table({"id": pa.array([12], pa.int32())})),
    ]
    with job_count(spark, "local rows") as jobs:
        for frame in frames:
            save(frame, tmp_path)
    assert jobs == []
    assert other_reader(tmp_path)["id"].to_pylist() == [0, 1, 2, 10, 11, 12]


def test_local_rows_are_the_rows_that_a_job_writes(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.sql(ROWS)
    with job_count(spark, "one") as none:
        save(frame, tmp_path / "local")
    with job_count(spark, "two") as some:
        save(frame.repartition(1), tmp_path / "job")
    assert none == []
    assert some
    local, job = (other_reader(tmp_path / name) for name in ("local", "job"))
    assert local.schema == job.schema
    assert str(local.to_pylist()) == str(job.to_pylist())
    stats = [
        lakebed.open(tmp_path / name).files(stats=True)["stats"].to_pylist()
        for name in ("local", "job")
    ]
    assert stats[0] == stats[1]


@pytest.mark.parametrize("rule", ["check", "large", "condition"])
def test_rows_go_through_spark_where_arrow_alone_could_be_wrong(
    spark: SparkSession, tmp_path: Path, rule: str
) -> None:
    properties = {"delta.constraints.c": "id >= 0"} if rule == "check" else {}
    create(tmp_path, StructType((StructField("id", LONG),)), properties=properties)
    count = 20_000 if rule == "large" else 5
    frame = spark.createDataFrame(pa.table({"id": pa.array(range(count), pa.int64())}))
    with job_count(spark, f"through spark {rule}") as jobs:
        if rule == "condition":
            save(frame, tmp_path, "overwrite", replaceWhere="id >= 0")
        else:
            save(frame, tmp_path)
    assert jobs
    assert other_reader(tmp_path).num_rows == count


def test_options_of_a_write_hold_for_local_rows_too(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.sql("SELECT * FROM VALUES (1), (2) AS t(id)")
    save(frame, tmp_path, compression="gzip", maxRecordsPerFile=1)
    files = [pq.read_metadata(file) for file in tmp_path.glob("*.parquet")]
    assert [file.num_rows for file in files] == [1, 1]
    assert {file.row_group(0).column(0).compression for file in files} == {"GZIP"}
