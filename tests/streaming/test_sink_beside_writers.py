"""Streams into one table, beside each other and beside commands, on Spark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from batch_feeds import Feed, run, writer
from pyspark.sql import SparkSession

import lakebed
from lakebed import DeltaTable
from lakebed.errors import ConcurrentAppendError, ConflictError
from lakebed.streaming.sink import write_batch
from lakebed.transaction import Transaction
from testkit.readers.log_json import actions, operations
from testkit.readers.other_readers import read_elsewhere

SCHEMA = "id long, v string"


def ids(path: Path) -> list[int]:
    found: list[int] = sorted(read_elsewhere(path)["id"].to_pylist())
    return found


def meanwhile(monkeypatch: pytest.MonkeyPatch, do: Any) -> None:
    """Before the next commit."""
    original = Transaction.commit

    def commit(self: Transaction) -> object:
        monkeypatch.setattr(Transaction, "commit", original)
        do()
        return original(self)

    monkeypatch.setattr(Transaction, "commit", commit)


@pytest.mark.slow("four queries and three commands run at once")
def test_streams_and_commands_at_once_lose_and_double_nothing(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    properties = {"delta.enableDeletionVectors": "true"}
    lakebed.create(path, {"id": "bigint", "v": "string"}, properties=properties)
    queries = []
    for number in range(3):
        feed = Feed(tmp_path / f"in{number}")
        for step in range(3):
            start = number * 100 + step * 10
            feed.add([{"id": start + n, "v": "new"} for n in range(10)])
        stream = writer(feed.frame(spark, SCHEMA), tmp_path / f"c{number}")
        queries.append(stream.start(str(path)))
    try:
        table = DeltaTable.forPath(spark, str(path))
        table.delete("id % 10 = 7")
        table.update("id % 10 = 3", {"v": "'changed'"})
        table.optimize().executeCompaction()
        for query in queries:
            assert query.awaitTermination(600)
    finally:
        for query in queries:
            query.stop()
    table.delete("id % 10 = 7")
    expected = [n for n in range(300) if n % 10 != 7 and n % 100 < 30]
    assert ids(path) == expected
    assert operations(path).count("STREAMING UPDATE") == 9


def test_two_streams_that_create_the_table_at_once_both_write(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t"
    one, two = Feed(tmp_path / "one"), Feed(tmp_path / "two")
    one.add([{"id": 1, "v": "a"}])
    two.add([{"id": 2, "v": "b"}])
    second = writer(two.frame(spark, SCHEMA), tmp_path / "c2")
    meanwhile(monkeypatch, lambda: run(second, path))
    run(writer(one.frame(spark, "id long, v string"), tmp_path / "c1"), path)
    assert ids(path) == [1, 2]


def before_the_sink(monkeypatch: pytest.MonkeyPatch, do: Any) -> None:
    """After Spark has planned a batch, and before the sink looks at the table."""

    def write(*arguments: Any) -> object:
        monkeypatch.undo()
        do()
        return write_batch(*arguments)

    monkeypatch.setattr("lakebed.sessions.native.stream_sink.write_batch", write)


@pytest.mark.parametrize("moment", [meanwhile, before_the_sink])
@pytest.mark.parametrize("joined", ["rows", "a count that comes from the log"])
def test_a_batch_that_reads_its_table_fails_if_others_change_it(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    joined: str,
    moment: Callable[[pytest.MonkeyPatch, Any], None],
) -> None:
    path, feed = tmp_path / "t", Feed(tmp_path / "in")
    feed.add([{"id": 1, "v": "a"}])
    lakebed.create(path, {"id": "bigint", "v": "string"})
    known = spark.read.format("delta").load(str(path))
    frame = feed.frame(spark, SCHEMA)
    if joined == "rows":
        frame = frame.join(known.select("id"), "id", "left_anti")
    else:
        frame = frame.crossJoin(known.selectExpr("count(*) AS n")).where("n = 0").drop("n")
    stream = writer(frame, tmp_path / "c")
    # Another writer adds the row that this batch has found absent.
    with monkeypatch.context() as patch:
        other = "INSERT INTO delta.`{}` SELECT id, v FROM delta.`{}` UNION SELECT 1, 'b'"
        moment(patch, lambda: spark.sql(other.format(path, path)))
        with pytest.raises(ConflictError):
            run(stream, path)
    assert ids(path) == [1]
    # The batch is planned once more, and finds the row.
    run(stream, path)
    assert ids(path) == [1]
    info = next(each["commitInfo"] for each in actions(path) if "commitInfo" in each)
    assert info["isBlindAppend"] is False


def test_a_stream_from_a_table_into_itself_depends_on_the_whole_table(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t"
    properties = {"delta.isolationLevel": "Serializable"}
    spark.range(2).write.format("delta").options(**properties).save(str(path))
    rows = spark.readStream.format("delta").load(str(path)).where("id < 2")
    stream = writer(rows.selectExpr("id + 10 AS id"), tmp_path / "c")
    with monkeypatch.context() as patch:
        meanwhile(patch, lambda: spark.sql(f"INSERT INTO delta.`{path}` VALUES (99)"))
        with pytest.raises(ConcurrentAppendError):
            run(stream, path)
    run(stream, path)
    assert ids(path) == [0, 1, 10, 11, 99]


def test_what_a_batch_reads_of_other_tables_does_not_matter(
    spark: SparkSession, tmp_path: Path
) -> None:
    path, feed = tmp_path / "t", Feed(tmp_path / "in")
    feed.add([{"id": 1, "v": "a"}])
    spark.range(3).write.format("delta").save(str(tmp_path / "other"))
    other = spark.read.format("delta").load(str(tmp_path / "other"))
    run(writer(feed.frame(spark, SCHEMA).join(other, "id"), tmp_path / "c"), path)
    info = next(each["commitInfo"] for each in actions(path) if "commitInfo" in each)
    assert info["isBlindAppend"] is True


def test_a_query_and_its_checkpoint_tell_the_same_progress(
    spark: SparkSession, tmp_path: Path
) -> None:
    source, path = tmp_path / "source", tmp_path / "t"
    for number in range(3):
        spark.range(number, number + 1).write.format("delta").mode("append").save(str(source))
    rows = spark.readStream.format("delta").option("maxFilesPerTrigger", 2).load(str(source))
    stream = writer(rows, tmp_path / "c").trigger(processingTime="0 seconds")
    query = stream.start(str(path))
    try:
        query.processAllAvailable()
        assert ids(path) == [0, 1, 2]
        (told,) = lakebed.stream_progress(query).to_pylist()
    finally:
        query.stop()
    (known,) = lakebed.stream_progress(tmp_path / "c", source).to_pylist()
    assert known == told
    assert (known["version"], known["file"], known["files_behind"]) == (2, None, 0)
    spark.range(9, 10).write.format("delta").mode("append").save(str(source))
    table = DeltaTable.forPath(spark, str(source))
    table.optimize().executeCompaction()
    (known,) = lakebed.stream_progress(tmp_path / "c", source).to_pylist()
    assert (known["versions_behind"], known["files_behind"]) == (2, 1)
    forecast = table.vacuumForecast(0, streams=[str(tmp_path / "c")])
    assert forecast.broken_streams["files"].to_pylist() == [1]
    # It catches up, and lacks nothing any more.
    run(writer(rows, tmp_path / "c"), path)
    assert ids(path) == [0, 1, 2, 9]
    assert table.vacuumForecast(0, streams=[str(tmp_path / "c")]).broken_streams.num_rows == 0
