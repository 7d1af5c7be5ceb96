"""Streams from a Delta table, on Spark: rows, offsets, restarts."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from stream_copies import Copy, append, expected

import lakebed
from lakebed.errors import InvalidArgumentError, SourceChangedError, UnsupportedFeatureError


def test_a_stream_reads_the_rows_that_are_there_then_what_is_appended(
    spark: SparkSession, source: str, copy: Copy
) -> None:
    assert copy.run() == expected(range(6))
    append(spark, source, range(6, 8))
    spark.sql(f"OPTIMIZE delta.`{source}`")
    assert copy.run() == expected(range(8))
    assert copy.run() == expected(range(8))
    assert copy.offsets() == [(3, -1, False), (5, -1, False)]


def test_a_limit_on_files_splits_the_initial_version(copy: Copy) -> None:
    assert copy.run(maxFilesPerTrigger=1) == expected(range(6))
    assert copy.offsets() == [(2, 0, True), (2, 1, True), (3, -1, False)]


def test_once_takes_everything(spark: SparkSession, source: str, tmp_path: Path) -> None:
    stream = spark.readStream.format("delta").option("maxFilesPerTrigger", 1).load(source)
    writer = stream.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "c"))
    query = writer.trigger(once=True).start()
    query.awaitTermination(120)
    assert [each["numInputRows"] for each in query.recentProgress] == [6]


def test_a_delete_in_the_source_is_an_error_that_names_the_options(
    spark: SparkSession, source: str, copy: Copy
) -> None:
    copy.run()
    spark.sql(f"DELETE FROM delta.`{source}` WHERE id = 1")
    with pytest.raises(SourceChangedError, match="version 3 ") as caught:
        copy.run()
    assert "skipChangeCommits" in str(caught.value.hint)
    append(spark, source, range(6, 7))
    assert copy.run(skipChangeCommits=True) == expected(range(7))


def test_rows_that_deletion_vectors_mark_do_not_come(
    spark: SparkSession, source: str, copy: Copy
) -> None:
    """The same file with another vector is another file, also within a batch."""
    spark.sql(f"ALTER TABLE delta.`{source}` SET TBLPROPERTIES(delta.enableDeletionVectors=true)")
    spark.sql(f"DELETE FROM delta.`{source}` WHERE id IN (1, 2)")
    assert copy.run() == [row for row in expected(range(6)) if row[0] not in (1, 2)]
    spark.sql(f"DELETE FROM delta.`{source}` WHERE id = 4")
    append(spark, source, range(6, 7))
    found = [row[0] for row in copy.run(ignoreChanges=True)]
    assert sorted(found) == [0, 3, 4, 5, 5, 6]


def test_a_named_table_with_mapped_columns_and_partitions(spark: SparkSession, copy: Copy) -> None:
    spark.sql("CREATE DATABASE stream_db")
    try:
        spark.sql(
            "CREATE TABLE stream_db.t (id BIGINT, old STRING, p INT) USING delta "
            "PARTITIONED BY (p) TBLPROPERTIES (delta.columnMapping.mode = 'name')"
        )
        spark.sql("INSERT INTO stream_db.t VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', null)")
        spark.sql("ALTER TABLE stream_db.t RENAME COLUMN old TO new")
        copy.change = lambda frame: frame.where("p = 1 OR p IS NULL").select("new", "p", "id")
        for enabled in ("true", "false"):
            spark.conf.set("spark.sql.adaptive.enabled", enabled)
            copy.start(name="stream_db.t", ignoreDeletes=True).awaitTermination(120)
            spark.sql("INSERT INTO stream_db.t VALUES (4, 'd', 1), (5, 'e', 2)")
        copy.start(name="stream_db.t").awaitTermination(120)
        assert copy.rows() == [
            ("a", 1, 1),
            ("c", None, 3),
            ("d", 1, 4),
            ("d", 1, 4),
        ]
    finally:
        spark.conf.unset("spark.sql.adaptive.enabled")
        spark.sql("DROP DATABASE stream_db CASCADE")


def test_progress_has_the_backlog(spark: SparkSession, source: str, tmp_path: Path) -> None:
    stream = spark.readStream.format("delta").option("maxFilesPerTrigger", 2)
    writer = stream.option("startingVersion", 0).load(source).writeStream.format("noop")
    writer = writer.option("checkpointLocation", str(tmp_path / "c"))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination(120)
    found = [each["sources"][0]["metrics"] for each in query.recentProgress]
    assert [each["numFilesOutstanding"] for each in found] == ["1", "0"]
    assert [each["numVersionsOutstanding"] for each in found] == ["1", "0"]
    assert int(found[0]["numBytesOutstanding"]) > 0


def test_invalid_options_are_refused_before_the_query_starts(
    spark: SparkSession, source: str
) -> None:
    def load(**options: object) -> None:
        spark.readStream.format("delta").options(**options).load(source)  # type: ignore[arg-type]

    with pytest.raises(InvalidArgumentError, match="maxFilesPerTrigger"):
        load(maxFilesPerTrigger=0)
    with pytest.raises(InvalidArgumentError, match="one version"):
        load(versionAsOf=1)
    with pytest.raises(InvalidArgumentError, match="not both"):
        load(startingVersion=1, startingTimestamp="2026-01-01")
    with pytest.raises(InvalidArgumentError, match="one version"):
        spark.readStream.format("delta").load(f"{source}@v1")


def test_python_workers_read_streams_too(spark: SparkSession, source: str, copy: Copy) -> None:
    spark.conf.set("spark.lakebed.dataPlane", "workers")
    try:
        assert copy.run(maxFilesPerTrigger=2) == expected(range(6))
        append(spark, source, range(6, 7))
        assert copy.run() == expected(range(7))
    finally:
        spark.conf.unset("spark.lakebed.dataPlane")


def test_a_stream_in_sql_reads_a_table_by_name(
    spark: SparkSession, source: str, tmp_path: Path
) -> None:
    if spark.version < "4.1":
        pytest.skip("Spark 4.0 has no FROM STREAM")
    spark.sql(f"CREATE TABLE stream_in_sql USING delta LOCATION '{source}'")
    try:
        frame = spark.sql("SELECT id FROM STREAM stream_in_sql WHERE id > 2")
        assert frame.isStreaming
        writer = frame.writeStream.option("checkpointLocation", str(tmp_path / "c"))
        writer.trigger(availableNow=True).start(str(tmp_path / "out")).awaitTermination(120)
        rows = spark.read.parquet(str(tmp_path / "out")).collect()
        assert sorted(row[0] for row in rows) == [3, 4, 5]
    finally:
        spark.sql("DROP TABLE stream_in_sql")
    with pytest.raises(UnsupportedFeatureError, match="needs the name of a table"):
        spark.sql(f"SELECT id FROM STREAM delta.`{source}`").schema  # noqa: B018


def test_files_that_vacuum_removed_name_the_first_readable_version(
    spark: SparkSession, source: str, copy: Copy
) -> None:
    copy.run()
    for start in (6, 7, 8):
        append(spark, source, range(start, start + 1))
    added = lakebed.open(source, version=4).files()["path"].to_pylist()
    before = lakebed.open(source, version=3).files()["path"].to_pylist()
    (gone,) = set(added) - set(before)
    (Path(source) / gone).unlink()
    with pytest.raises(Exception, match="readable from version 5 on"):
        copy.run()
