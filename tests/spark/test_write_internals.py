"""What of Spark's inside the writer stands on; a test names what breaks without it."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from lakebed.spark.internals.jvm import Jvm
from lakebed.spark.internals.write import MANIFEST, ParquetSink, local_rows
from lakebed.spark.types import incoming_schema


def test_the_sink_of_streams_names_the_files_that_it_wrote(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Breaks: every native write; FileStreamSink, its manifest, and names of directories."""
    frame = spark.range(4).withColumn("p", F.when(F.col("id") < 2, "a/b"))
    folder = tmp_path / "new"
    ParquetSink(Jvm.of(spark), {}).write(frame, folder.as_uri(), ["p"], {"compression": "zstd"})
    version, *lines = (folder / MANIFEST).read_text().splitlines()
    assert version == "v1"
    entries = [json.loads(line) for line in lines]
    written = {file.name: file for file in folder.glob("*/*.parquet")}
    assert {entry["path"].rpartition("/")[2] for entry in entries} == set(written)
    assert all(
        entry["size"] == written[entry["path"].rpartition("/")[2]].stat().st_size
        for entry in entries
    )
    assert {file.parent.name for file in written.values()} == {
        "p=a%2Fb",
        "p=__HIVE_DEFAULT_PARTITION__",
    }


def test_settings_of_a_write_reach_the_tasks_and_no_other_session(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Breaks: timestamps without statistics; cloneSession, SQLExecution.withNewExecutionId."""
    key = "spark.sql.parquet.outputTimestampType"
    before = spark.conf.get(key)
    sink = ParquetSink(Jvm.of(spark), {key: "TIMESTAMP_MICROS"})
    frame = spark.range(0, 1, 1, 1).select(F.current_timestamp().alias("at"))
    sink.write(frame, (tmp_path / "new").as_uri(), [], {})
    (file,) = (tmp_path / "new").glob("*.parquet")
    assert pq.ParquetFile(file).schema.column(0).physical_type == "INT64"
    assert spark.conf.get(key) == before


def test_the_tasks_of_a_plan_are_counted_without_running_it(spark: SparkSession) -> None:
    """Breaks: identity columns; QueryExecution.toRdd."""
    sink = ParquetSink(Jvm.of(spark), {"spark.sql.adaptive.enabled": "false"})
    assert sink.num_partitions(spark.range(0, 10, 1, 7)) == 7
    assert sink.num_partitions(spark.range(10).groupBy("id").count()) == 2


def test_rows_of_a_local_relation_are_turned_into_arrow_in_the_driver(spark: SparkSession) -> None:
    """Breaks: tiny appends; LocalRelation, ArrowConverters.toBatchIterator."""
    frame = spark.sql("SELECT * FROM VALUES (1, 'a'), (2, NULL) AS t(id, s)")
    table = local_rows(frame, incoming_schema(frame), 10)
    assert table is not None
    assert table.to_pylist() == [{"id": 1, "s": "a"}, {"id": 2, "s": None}]
    assert local_rows(frame, incoming_schema(frame), 1) is None
    assert local_rows(spark.range(3), incoming_schema(spark.range(3)), 10) is None


def test_only_frames_of_enabled_sessions_have_another_writer(spark: SparkSession) -> None:
    """Breaks: df.write; the property `write` of the classic DataFrame."""
    assert type(spark.range(1).write).__name__ == "DeltaWriter"
    assert type(spark.newSession().range(1).write).__name__ == "DataFrameWriter"
