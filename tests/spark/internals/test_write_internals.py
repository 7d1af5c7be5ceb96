"""What of Spark's inside the writer stands on; a test names what breaks without it."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from lakebed.spark.columns.spark_types import incoming_schema
from lakebed.spark.internals.jvm import Jvm
from lakebed.spark.internals.parquet_sink import ParquetSink, local_rows
from lakebed.spark.internals.startup.rules import TABLE_WRITES, compiled


def test_a_write_names_its_files_and_leaves_nothing_else(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Breaks: every native write; FileFormatWriter, ManifestFileCommitProtocol, SinkFileStatus, and
    names of directories."""
    frame = spark.range(0, 4, 1, 2).withColumn("p", F.when(F.col("id") < 2, "a/b"))
    folder = tmp_path / "a b%20"
    folder.mkdir()
    (folder / "other").touch()
    sink = ParquetSink(Jvm.of(spark), {})
    written = sink.write(frame, f"file://{folder}", 1, {"compression": "zstd"})
    found = {unquote(file.uri.partition("a%20b%2520/")[2]): file for file in written}
    on_disk = {str(file.relative_to(folder)): file.stat() for file in folder.rglob("*.*")}
    assert {path: file.size for path, file in found.items()} == {
        path: status.st_size for path, status in on_disk.items()
    }
    assert all(
        file.modified_ms // 1000 == int(on_disk[path].st_mtime) for path, file in found.items()
    )
    assert {path.rpartition("/")[0] for path in found} == {
        "p=a%2Fb",
        "p=__HIVE_DEFAULT_PARTITION__",
    }
    name = r"part-0000[01]-[0-9a-f-]{36}\.c000\.zstd\.parquet"
    assert all(re.fullmatch(name, path.rpartition("/")[2]) for path in found)
    tops = {each.name for each in folder.iterdir()}
    assert tops == {"other", "p=a%2Fb", "p=__HIVE_DEFAULT_PARTITION__"}


def test_columns_that_partition_may_have_the_names_of_columns_in_the_files(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Breaks: tables with partition columns in their files; FileFormatWriter goes by attributes."""
    frame = spark.range(2).select("id", F.lit("x").alias("p"), F.lit("y").alias("p"))
    ParquetSink(Jvm.of(spark), {}).write(frame, tmp_path.as_uri(), 1, {})
    (folder,) = tmp_path.iterdir()
    assert folder.name == "p=y"
    rows = [row for file in folder.iterdir() for row in pq.ParquetFile(file).read().to_pylist()]
    assert sorted(row["id"] for row in rows) == [0, 1]
    assert {row["p"] for row in rows} == {"x"}


def test_executors_get_a_class_of_sparks(spark: SparkSession) -> None:
    """Breaks: writes on clusters, whose executors have no class of Lakebed's; writeReplace."""
    jvm = Jvm.of(spark)
    loader = compiled(spark, TABLE_WRITES).getClass().getClassLoader()
    maker = loader.loadClass("lakebed.scans.TableWrites$Committer").getDeclaredConstructors()[0]
    maker.setAccessible(True)
    arguments = jvm._gateway.new_array(jvm._java.Object, 2)
    arguments[0], arguments[1] = "job", "file:/folder"
    committer = maker.newInstance(arguments)
    data = jvm._class("org.apache.spark.util.Utils").serialize(committer)
    sent = jvm._class("org.apache.spark.util.Utils").deserialize(data)
    name = "org.apache.spark.sql.execution.streaming.ManifestFileCommitProtocol"
    assert sent.getClass().getName() == name


def test_a_job_that_fails_deletes_the_files_of_its_finished_tasks(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Breaks: orphans after failed writes; FileCommitProtocol.onTaskCommit and abortJob."""
    table, mark = tmp_path / "table", tmp_path / "seen"

    def fail_late(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The second task fails when the driver knows that the first is done."""
        for batch in batches:
            yield batch
            if batch.column(0)[0].as_py() == 1:
                while not any(file.stat().st_size for file in table.glob("part-00000-*")):
                    time.sleep(0.02)
                time.sleep(1)
                mark.touch()
                raise RuntimeError("this task was to fail")

    frame = spark.range(0, 2, 1, 2).mapInArrow(fail_late, "id long")
    with pytest.raises(Exception, match="was to fail"):
        ParquetSink(Jvm.of(spark), {}).write(frame, table.as_uri(), 0, {})
    assert mark.exists()
    assert not list(table.iterdir())


def test_settings_of_a_write_reach_the_tasks_and_no_other_session(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Breaks: timestamps without statistics; cloneSession, SQLExecution.withNewExecutionId."""
    key = "spark.sql.parquet.outputTimestampType"
    before = spark.conf.get(key)
    sink = ParquetSink(Jvm.of(spark), {key: "TIMESTAMP_MICROS"})
    frame = spark.range(0, 1, 1, 1).select(F.current_timestamp().alias("at"))
    sink.write(frame, (tmp_path / "new").as_uri(), 0, {})
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
