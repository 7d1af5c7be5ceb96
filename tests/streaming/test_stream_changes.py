"""Change feeds, and changes of columns, as streams on Spark."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from stream_copies import Copy, append


@pytest.mark.parametrize("vectors", ["true", "false"])
def test_a_change_feed_begins_with_inserts(
    spark: SparkSession, source: str, copy: Copy, vectors: str
) -> None:
    table = f"delta.`{source}`"
    spark.sql(
        f"ALTER TABLE {table} SET TBLPROPERTIES (delta.enableChangeDataFeed = true, "
        f"delta.enableDeletionVectors = {vectors})"
    )
    copy.change = lambda frame: frame.drop("_commit_timestamp")
    first = copy.run(readChangeFeed=True, maxFilesPerTrigger=2)
    assert first == [(each, each * 10, "insert", 3) for each in range(6)]
    spark.sql(f"DELETE FROM {table} WHERE id = 1")
    spark.sql(f"UPDATE {table} SET v = -1 WHERE id = 2")
    append(spark, source, range(6, 7))
    rest = [row for row in copy.run(readChangeFeed=True, maxFilesPerTrigger=1) if row[3] != 3]
    assert rest == sorted(
        [
            (1, 10, "delete", 4),
            (2, 20, "update_preimage", 5),
            (2, -1, "update_postimage", 5),
            (6, 60, "insert", 6),
        ],
        key=str,
    )


def test_the_times_of_a_change_feed_are_those_of_its_commits(
    spark: SparkSession, source: str, copy: Copy
) -> None:
    spark.sql(f"ALTER TABLE delta.`{source}` SET TBLPROPERTIES (delta.enableChangeDataFeed = true)")
    append(spark, source, range(6, 7))
    copy.change = lambda frame: frame.select("_commit_version", "_commit_timestamp").distinct()
    history = spark.sql(f"DESCRIBE HISTORY delta.`{source}`").select("version", "timestamp")
    times = {row[0]: row[1] for row in history.collect()}
    assert copy.run(readChangeFeed=True, startingVersion=3) == [(4, times[4])]


def test_a_stream_goes_on_after_a_rename_with_a_schema_location(
    spark: SparkSession, tmp_path: Path
) -> None:
    source = str(tmp_path / "mapped")
    spark.sql(
        f"CREATE TABLE delta.`{source}` (id BIGINT, old STRING) USING delta "
        "TBLPROPERTIES (delta.columnMapping.mode = 'name')"
    )
    spark.sql(f"INSERT INTO delta.`{source}` VALUES (1, 'a')")
    copy = Copy(spark, source, tmp_path)
    options = {"schemaTrackingLocation": str(copy.checkpoint / "schema")}
    assert copy.run(**options) == [(1, "a")]
    spark.sql(f"INSERT INTO delta.`{source}` VALUES (2, 'b')")
    spark.sql(f"ALTER TABLE delta.`{source}` RENAME COLUMN old TO new")
    spark.sql(f"INSERT INTO delta.`{source}` VALUES (3, 'c')")
    with pytest.raises(Exception, match="schema log of the stream"):
        copy.run(**options)
    assert copy.rows() == [(1, "a"), (2, "b")]
    with pytest.raises(Exception, match="old was renamed to new"):
        copy.run(**options)
    copy.run(**options, allowSourceColumnRename="always")
    written = spark.read.option("mergeSchema", "true").parquet(str(tmp_path / "copy"))
    found = sorted(tuple(row) for row in written.select("id", "old", "new").collect())
    assert found == [(1, "a", None), (2, "b", None), (3, None, "c")]
    assert copy.offsets() == [(2, -1, False), (3, -20, False), (3, -19, False), (5, -1, False)]


def test_a_schema_location_outside_of_the_checkpoint_is_refused(copy: Copy, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="is not below the checkpoint location"):
        copy.run(schemaTrackingLocation=str(tmp_path / "elsewhere"))


def test_a_new_column_comes_with_the_next_run(spark: SparkSession, source: str, copy: Copy) -> None:
    query = copy.start()
    query.awaitTermination(120)
    running = spark.readStream.format("delta").load(source).writeStream.format("noop").start()
    try:
        running.processAllAvailable()
        spark.sql(f"ALTER TABLE delta.`{source}` ADD COLUMNS (more INT)")
        spark.sql(f"INSERT INTO delta.`{source}` VALUES (6, 60, 1)")
        with pytest.raises(Exception, match="start the query again"):
            running.processAllAvailable()
    finally:
        running.stop()
    assert copy.run()[-1] == (6, 60, 1)
