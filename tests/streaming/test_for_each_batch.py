"""Batches that a function writes: MERGE, idempotent writes, and what they leave behind."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from batch_feeds import Feed, forget_last_commit, run
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import lakebed
from lakebed import DeltaTable
from testkit.readers.log_json import operations
from testkit.readers.other_readers import read_elsewhere

Put = Callable[[DataFrame, int], None]


@pytest.fixture
def feed(tmp_path: Path) -> Feed:
    """The second batch changes a row of the first."""
    made = Feed(tmp_path / "in")
    made.add([{"id": 1, "v": "a"}, {"id": 2, "v": "b"}])
    made.add([{"id": 2, "v": "new"}, {"id": 3, "v": "c"}])
    return made


def rows(path: Path) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in read_elsewhere(path).to_pylist())


def run_each(spark: SparkSession, feed: Feed, checkpoint: Path, put: Put) -> None:
    stream = feed.frame(spark, "id long, v string").writeStream.foreachBatch(put)
    stream = stream.option("checkpointLocation", str(checkpoint))
    run(stream.trigger(availableNow=True))


def merged_by_builder(path: Path) -> Put:
    def put(batch: DataFrame, _: int) -> None:
        table = DeltaTable.forPath(batch.sparkSession, str(path))
        merge = table.alias("t").merge(batch.alias("s"), "t.id = s.id")
        merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()

    return put


def merged_by_sql(path: Path) -> Put:
    def put(batch: DataFrame, _: int) -> None:
        batch.createOrReplaceTempView("updates")
        batch.sparkSession.sql(
            f"MERGE INTO delta.`{path}` t USING updates s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )

    return put


@pytest.mark.parametrize("merged", [merged_by_builder, merged_by_sql])
@pytest.mark.parametrize("vectors", ["true", "false"])
def test_a_batch_is_merged_and_merging_it_again_changes_nothing(
    spark: SparkSession,
    feed: Feed,
    tmp_path: Path,
    merged: Callable[[Path], Put],
    vectors: str,
) -> None:
    path = tmp_path / "t"
    properties = {"delta.enableDeletionVectors": vectors}
    lakebed.create(path, {"id": "bigint", "v": "string"}, properties=properties)
    run_each(spark, feed, tmp_path / "c", merged(path))
    expected = [(1, "a"), (2, "new"), (3, "c")]
    assert rows(path) == expected
    forget_last_commit(tmp_path / "c")
    run_each(spark, feed, tmp_path / "c", merged(path))
    assert rows(path) == expected
    assert operations(path).count("MERGE") == 3


def test_a_batch_with_an_id_of_its_writer_is_appended_once(
    spark: SparkSession, feed: Feed, tmp_path: Path
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"

    def put(batch: DataFrame, number: int) -> None:
        for path in (one, two):
            write = batch.write.format("delta").mode("append")
            write.option("txnAppId", "feed").option("txnVersion", number).save(str(path))

    run_each(spark, feed, tmp_path / "c", put)
    # The last batch reached one of the two tables before its query died.
    forget_last_commit(tmp_path / "c")
    last = two / "_delta_log" / f"{1:020}.json"
    last.unlink()
    for leftover in (two / "_delta_log").glob(f"*{1:020}*"):
        leftover.unlink()
    run_each(spark, feed, tmp_path / "c", put)
    assert rows(one) == rows(two) == [(1, "a"), (2, "b"), (2, "new"), (3, "c")]
    assert len(operations(one)) == 2


def test_half_of_a_txn_is_refused(spark: SparkSession, feed: Feed, tmp_path: Path) -> None:
    path = tmp_path / "t"

    def put(batch: DataFrame, _: int) -> None:
        batch.write.format("delta").mode("append").option("txnAppId", "feed").save(str(path))

    with pytest.raises(StreamingQueryException, match="txnAppId and txnVersion go together"):
        run_each(spark, feed, tmp_path / "c", put)
    assert not path.exists()


@pytest.mark.slow("runs eight queries")
def test_merges_leave_no_more_threads_behind_than_pyspark_itself(
    spark: SparkSession, tmp_path: Path
) -> None:
    path, feed = tmp_path / "t", Feed(tmp_path / "in")
    feed.add([{"id": 1, "v": "a"}])
    lakebed.create(path, {"id": "bigint", "v": "string"})

    def num_threads() -> tuple[int, int]:
        gc.collect()
        spark._jvm.System.gc()  # type: ignore[union-attr]
        found = spark._jvm.java.lang.Thread.getAllStackTraces()  # type: ignore[union-attr]
        names = [str(thread.getName()) for thread in found.keySet()]
        # Those of py4j have no other name, and the pools of Spark do not count.
        ours = [name for name in names if name.startswith("Thread-") or "lakebed" in name]
        return threading.active_count(), len(ours)

    def growth(name: str, put: Put) -> tuple[int, int]:
        run_each(spark, feed, tmp_path / f"{name} first", put)
        before = num_threads()
        for number in range(3):
            run_each(spark, feed, tmp_path / f"{name} {number}", put)
        after = num_threads()
        return after[0] - before[0], after[1] - before[1]

    # PySpark keeps a connection for each query that calls a function.
    alone = growth("alone", lambda *_: None)
    merging = growth("merging", merged_by_builder(path))
    assert merging[0] <= alone[0] + 1
    assert merging[1] <= alone[1] + 1
    assert rows(path) == [(1, "a")]
