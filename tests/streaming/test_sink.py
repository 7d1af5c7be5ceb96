"""Streams into tables: one commit for each batch, exactly once, with what the table asks for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from batch_feeds import Feed, forget_last_commit, run, writer
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import lakebed
from lakebed.errors import (
    AppendOnlyError,
    ConstraintViolationError,
    InvalidArgumentError,
    LakebedError,
    SchemaMismatchError,
    UnsupportedFeatureError,
)
from testkit.readers.log_json import actions, commit_of, last_commit, live_adds, operations
from testkit.readers.other_readers import read_elsewhere
from testkit.tables.spark_tables import settings

SCHEMA = "id long, v string"


@pytest.fixture
def feed(tmp_path: Path) -> Feed:
    """Two batches of two rows."""
    made = Feed(tmp_path / "in")
    made.add([{"id": 1, "v": "a"}, {"id": 2, "v": "b"}])
    made.add([{"id": 3, "v": "a"}, {"id": 4, "v": "b"}])
    return made


def rows(path: Path) -> list[tuple[Any, ...]]:
    """By a reader that shares no code with Lakebed."""
    return sorted(tuple(row.values()) for row in read_elsewhere(path).to_pylist())


def num_versions(path: Path) -> int:
    return len(list((path / "_delta_log").glob("*.json")))


FOUR = [(1, "a"), (2, "b"), (3, "a"), (4, "b")]

# --- commits --------------------------------------------------------------------------------------


def test_each_batch_is_one_commit_in_the_words_of_delta_spark(
    spark: SparkSession, feed: Feed, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    query = run(writer(feed.frame(spark, SCHEMA), tmp_path / "c"), path)
    assert rows(path) == FOUR
    assert num_versions(path) == 2
    found = last_commit(path)
    info = found["commitInfo"]
    assert info["operation"] == "STREAMING UPDATE"
    assert info["operationParameters"] == {
        "outputMode": "Append",
        "queryId": query.id,
        "epochId": "1",
    }
    size = found["add"]["size"]
    assert info["operationMetrics"] == {
        "numAddedFiles": "1",
        "numRemovedFiles": "0",
        "numOutputRows": "2",
        "numOutputBytes": str(size),
    }
    assert info["isBlindAppend"] is True
    assert found["txn"]["appId"] == query.id
    assert found["txn"]["version"] == 1
    assert [each.numInputRows for each in query.recentProgress] == [2, 2]


def test_complete_mode_replaces_the_whole_table(
    spark: SparkSession, feed: Feed, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    counts = feed.frame(spark, SCHEMA).groupBy("v").count()
    # What the session says about overwrites of partitions is not for streams.
    with settings(spark, {"spark.sql.sources.partitionOverwriteMode": "dynamic"}):
        stream = writer(counts.where("v = 'a' OR count > 1"), tmp_path / "c").partitionBy("v")
        run(stream.outputMode("complete"), path)
    assert rows(path) == [("a", 2), ("b", 2)]
    first, second = (commit_of(path, f"{n:020}.json") for n in range(2))
    assert first["commitInfo"]["operationMetrics"]["numRemovedFiles"] == "0"
    assert second["commitInfo"]["operationParameters"]["outputMode"] == "Complete"
    assert second["commitInfo"]["operationMetrics"]["numRemovedFiles"] == "1"
    assert second["commitInfo"]["isBlindAppend"] is False


def test_an_append_only_table_takes_no_complete_output(
    spark: SparkSession, feed: Feed, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    table = {"v": "string", "count": "bigint"}
    lakebed.create(path, table, properties={"delta.appendOnly": "true"})
    counts = feed.frame(spark, SCHEMA).groupBy("v").count()
    with pytest.raises(AppendOnlyError):
        run(writer(counts, tmp_path / "c").outputMode("complete"), path)
    assert num_versions(path) == 1


def test_a_batch_without_rows_is_a_commit_without_files(
    spark: SparkSession, feed: Feed, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    run(writer(feed.frame(spark, SCHEMA).where("id > 2"), tmp_path / "c"), path)
    assert rows(path) == [(3, "a"), (4, "b")]
    assert num_versions(path) == 2


def test_user_metadata_is_in_the_history_and_a_txn_of_the_user_is_not_that_of_the_query(
    spark: SparkSession, feed: Feed, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    options = {"userMetadata": "from the feed", "txnAppId": "mine", "txnVersion": 7}
    query = run(writer(feed.frame(spark, SCHEMA), tmp_path / "c", **options), path)
    assert rows(path) == FOUR
    assert last_commit(path)["commitInfo"]["userMetadata"] == "from the feed"
    log = [each["txn"] for n in range(2) for each in actions(path, n) if "txn" in each]
    assert [(each["appId"], each["version"]) for each in log] == [(query.id, 0), (query.id, 1)]


# --- exactly once ---------------------------------------------------------------------------------


def test_a_query_goes_on_where_it_was(spark: SparkSession, feed: Feed, tmp_path: Path) -> None:
    path = tmp_path / "t"
    first = run(writer(feed.frame(spark, SCHEMA), tmp_path / "c"), path)
    feed.add([{"id": 5, "v": "c"}])
    second = run(writer(feed.frame(spark, SCHEMA), tmp_path / "c"), path)
    assert first.id == second.id
    assert rows(path) == [*FOUR, (5, "c")]
    assert num_versions(path) == 3


def test_a_repeated_batch_is_skipped_without_a_job(
    spark: SparkSession, feed: Feed, tmp_path: Path
) -> None:
    path = tmp_path / "t"

    def start(frame: DataFrame) -> list[int]:
        query = run(writer(frame, tmp_path / "c"), path)
        return [each.numInputRows for each in query.recentProgress]

    frame = feed.frame(spark, SCHEMA)
    assert start(frame) == [2, 2]
    assert forget_last_commit(tmp_path / "c") == 1
    feed.add([{"id": 5, "v": "c"}])
    # A job for the second batch would read its rows, and fail.
    no_job = F.when(F.col("id") == 3, F.raise_error(F.lit("computed"))).otherwise(F.col("v"))
    assert start(frame.withColumn("v", no_job.cast("string"))) == [0, 1]
    assert rows(path) == [*FOUR, (5, "c")]
    assert num_versions(path) == 3


def test_a_repeated_batch_of_complete_output_is_skipped_too(
    spark: SparkSession, feed: Feed, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    counts = feed.frame(spark, SCHEMA).groupBy("v").count()
    stream = writer(counts, tmp_path / "c").outputMode("complete")
    run(stream, path)
    forget_last_commit(tmp_path / "c")
    run(stream, path)
    assert rows(path) == [("a", 2), ("b", 2)]
    assert num_versions(path) == 2


def test_batches_of_other_queries_are_not_taken_for_those_of_a_new_one(
    spark: SparkSession, feed: Feed, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    run(writer(feed.frame(spark, SCHEMA), tmp_path / "c"), path)
    run(writer(feed.frame(spark, SCHEMA), tmp_path / "other"), path)
    assert rows(path) == sorted([*FOUR, *FOUR])


def test_a_second_query_on_one_checkpoint_is_refused_while_the_first_runs(
    spark: SparkSession, feed: Feed, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    frame = feed.frame(spark, SCHEMA)
    stream = writer(frame, tmp_path / "c").trigger(processingTime="1 second")
    first = stream.start(str(path))
    try:
        first.processAllAvailable()
        with (
            settings(spark, {"spark.sql.streaming.stopActiveRunOnRestart": "false"}),
            pytest.raises(Py4JJavaError, match="another query with same id is already active"),
        ):
            stream.start(str(path))
    finally:
        first.stop()
    assert rows(path) == FOUR


# --- refusals before the query starts -------------------------------------------------------------


def test_update_mode_is_refused_with_what_to_use_instead(
    spark: SparkSession, feed: Feed, tmp_path: Path
) -> None:
    counts = feed.frame(spark, SCHEMA).groupBy("v").count()
    with pytest.raises(UnsupportedFeatureError, match="output mode update") as refused:
        writer(counts, tmp_path / "c").outputMode("update").start(str(tmp_path / "t"))
    assert "foreachBatch" in str(refused.value.hint)
    assert "DeltaTable.merge" in str(refused.value.hint)
    assert not (tmp_path / "t").exists()
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("name", ["checkpoint", "a/b", "_change_data/c", ""])
def test_a_checkpoint_that_vacuum_would_delete_is_refused(
    spark: SparkSession, feed: Feed, tmp_path: Path, name: str
) -> None:
    path = tmp_path / "t"
    with pytest.raises(InvalidArgumentError, match="inside of the table") as refused:
        writer(feed.frame(spark, SCHEMA), path / name).start(str(path))
    assert "underscore" in str(refused.value.hint)
    assert not path.exists()


def test_a_checkpoint_location_of_the_session_is_looked_at_too(
    spark: SparkSession, feed: Feed, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    stream = feed.frame(spark, SCHEMA).writeStream.format("delta").queryName("q")
    with (
        settings(spark, {"spark.sql.streaming.checkpointLocation": f"file:{path}/inside"}),
        pytest.raises(InvalidArgumentError, match="inside of the table"),
    ):
        stream.start(str(path))


@pytest.mark.parametrize("name", ["_checkpoints/feed", ".hidden", "../t2"])
def test_a_hidden_checkpoint_in_the_table_is_the_usual_place_for_one(
    spark: SparkSession, feed: Feed, tmp_path: Path, name: str
) -> None:
    path = tmp_path / "t"
    run(writer(feed.frame(spark, SCHEMA), path / name), path)
    lakebed.open(path).vacuum(0, enforce_retention=False)
    run(writer(feed.frame(spark, SCHEMA), path / name), path)
    assert rows(path) == FOUR


def test_a_stream_that_has_its_checkpoint_in_the_table_already_goes_on(
    spark: SparkSession, feed: Feed, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "t"
    run(writer(feed.frame(spark, SCHEMA), tmp_path / "c"), path)
    (tmp_path / "c").rename(path / "c")
    feed.add([{"id": 5, "v": "c"}])
    run(writer(feed.frame(spark, SCHEMA), path / "c"), path)
    assert rows(path) == [*FOUR, (5, "c")]
    assert "VACUUM would delete" in caplog.text


def test_a_stream_without_a_path_is_refused(
    spark: SparkSession, feed: Feed, tmp_path: Path
) -> None:
    with pytest.raises(InvalidArgumentError, match="not the path of a table"):
        writer(feed.frame(spark, SCHEMA), tmp_path / "c").start()


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("replaceWhere", "id = 1", "replaceWhere is not an option of streams"),
        ("mergeSchema", "perhaps", "mergeSchema is 'perhaps'"),
        ("maxRecordsPerFile", "many", "maxRecordsPerFile is 'many'"),
    ],
)
def test_options_that_no_batch_could_take_are_refused(
    spark: SparkSession, feed: Feed, tmp_path: Path, option: str, value: str, message: str
) -> None:
    stream = writer(feed.frame(spark, SCHEMA), tmp_path / "c", **{option: value})
    with pytest.raises(InvalidArgumentError, match=message):
        stream.start(str(tmp_path / "t"))
    assert not (tmp_path / "t").exists()


@pytest.mark.skipif("not hasattr(__import__('pyspark').sql.streaming, 'StatefulProcessor')")
def test_real_time_mode_is_refused_by_name(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.readStream.format("rate").load()
    stream = frame.writeStream.format("delta").option("checkpointLocation", str(tmp_path / "c"))
    with pytest.raises((PySparkException, LakebedError, TypeError), match=r"(?i)real.?time"):
        stream.trigger(realTime="5 seconds").start(str(tmp_path / "t"))
    assert not (tmp_path / "t").exists()


# --- partitions and clustering --------------------------------------------------------------------


def test_a_new_table_is_partitioned(spark: SparkSession, feed: Feed, tmp_path: Path) -> None:
    path = tmp_path / "t"
    run(writer(feed.frame(spark, SCHEMA), tmp_path / "c").partitionBy("v"), path)
    assert rows(path) == FOUR
    assert {each["partitionValues"]["v"] for each in live_adds(path).values()} == {"a", "b"}


def test_another_partitioning_than_that_of_the_table_is_refused_before_the_start(
    spark: SparkSession, feed: Feed, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    lakebed.create(path, {"id": "bigint", "v": "string"}, partition_by="v")
    same = writer(feed.frame(spark, SCHEMA), tmp_path / "c")
    with pytest.raises(SchemaMismatchError, match="partitioned by"):
        same.partitionBy("id").start(str(path))
    run(writer(feed.frame(spark, SCHEMA), tmp_path / "c").partitionBy("V"), path)
    run(writer(feed.frame(spark, SCHEMA), tmp_path / "c2"), path)
    assert rows(path) == sorted([*FOUR, *FOUR])


def test_a_new_table_is_clustered(spark: SparkSession, feed: Feed, tmp_path: Path) -> None:
    path = tmp_path / "t"
    run(writer(feed.frame(spark, SCHEMA), tmp_path / "c").clusterBy("id"), path)
    assert rows(path) == FOUR
    domains = [each["domainMetadata"] for each in actions(path, 0) if "domainMetadata" in each]
    assert domains[0]["domain"] == "delta.clustering"
    assert '["id"]' in domains[0]["configuration"]


# --- files ----------------------------------------------------------------------------------------


def test_optimized_writes_bring_the_rows_of_a_batch_together(
    spark: SparkSession, tmp_path: Path
) -> None:
    path, feed = tmp_path / "t", Feed(tmp_path / "in")
    feed.add([{"id": n, "v": str(n)} for n in range(100)])
    spread = feed.frame(spark, SCHEMA).repartition(8, "id")
    run(writer(spread, tmp_path / "c"), path)
    assert len(live_adds(path)) > 4
    # Streams forbid Spark to decide on the number of tasks while a query runs.
    with settings(spark, {"spark.sql.shuffle.partitions": "16"}):
        run(writer(spread, tmp_path / "c2", optimizeWrite="true"), tmp_path / "u")
    assert len(live_adds(tmp_path / "u")) == 1
    assert rows(tmp_path / "u") == rows(path)


def test_small_files_of_many_batches_are_put_together(spark: SparkSession, tmp_path: Path) -> None:
    path, feed = tmp_path / "t", Feed(tmp_path / "in")
    for n in range(5):
        feed.add([{"id": n, "v": "a"}])
    auto = "spark.databricks.delta.autoCompact."
    with settings(spark, {f"{auto}enabled": "true", f"{auto}minNumFiles": "3"}):
        run(writer(feed.frame(spark, SCHEMA), tmp_path / "c"), path)
    assert rows(path) == [(n, "a") for n in range(5)]
    assert operations(path).count("OPTIMIZE") == 2
    assert len(live_adds(path)) == 1


# --- rules of the table ---------------------------------------------------------------------------


def test_constraints_defaults_generated_and_identity_columns_hold_in_every_batch(
    spark: SparkSession, feed: Feed, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    spark.sql(
        f"CREATE TABLE delta.`{path}` (id BIGINT NOT NULL, v VARCHAR(3), "
        "twice BIGINT GENERATED ALWAYS AS (id * 2), n BIGINT GENERATED ALWAYS AS IDENTITY, "
        "w STRING DEFAULT 'new') USING delta "
        "TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')"
    )
    spark.sql(f"ALTER TABLE delta.`{path}` ADD CONSTRAINT few CHECK (id < 10)")
    run(writer(feed.frame(spark, SCHEMA), tmp_path / "c"), path)
    found = lakebed.open(path).to_arrow().to_pylist()
    assert sorted((r["id"], r["v"], r["twice"], r["w"]) for r in found) == [
        (n, v, n * 2, "new") for n, v in FOUR
    ]
    assert len({r["n"] for r in found}) == 4
    before = num_versions(path)
    feed.add([{"id": 11, "v": "x"}])
    with pytest.raises(ConstraintViolationError, match="few"):
        run(writer(feed.frame(spark, SCHEMA), tmp_path / "c"), path)
    assert num_versions(path) == before


def test_strings_of_limited_length_are_stored_as_spark_stores_them(
    spark: SparkSession, feed: Feed, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    spark.sql(f"CREATE TABLE delta.`{path}` (id BIGINT, v CHAR(3)) USING delta")
    run(writer(feed.frame(spark, SCHEMA), tmp_path / "c"), path)
    assert rows(path) == [(n, f"{v}  ") for n, v in FOUR]
    feed.add([{"id": 5, "v": "long"}])
    with pytest.raises(ConstraintViolationError, match="limit of column v"):
        run(writer(feed.frame(spark, SCHEMA), tmp_path / "c"), path)


def test_values_of_an_identity_column_cannot_be_given(
    spark: SparkSession, feed: Feed, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    spark.sql(
        f"CREATE TABLE delta.`{path}` (id BIGINT GENERATED ALWAYS AS IDENTITY, v STRING) "
        "USING delta"
    )
    with pytest.raises(SchemaMismatchError, match="IDENTITY"):
        run(writer(feed.frame(spark, SCHEMA), tmp_path / "c"), path)
    assert num_versions(path) == 1
