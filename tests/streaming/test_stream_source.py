"""Streams from a Delta table, on Spark: rows, offsets, restarts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming import DataStreamReader

from lakebed.errors import InvalidArgumentError

Run = Callable[..., list[tuple[object, ...]]]


@pytest.fixture
def source(spark: SparkSession, tmp_path: Path) -> str:
    """Versions 0 to 2, each with a file of two rows."""
    path = str(tmp_path / "source")
    for start in (0, 2, 4):
        rows = spark.range(start, start + 2, 1, 1).selectExpr("id", "id * 10 AS v")
        rows.write.format("delta").mode("append").save(path)
    return path


@pytest.fixture
def run(spark: SparkSession, source: str, tmp_path: Path) -> Run:
    """Runs a stream until nothing is new; gives all rows that it has written so far."""
    copy, checkpoint = str(tmp_path / "copy"), str(tmp_path / "checkpoint")

    def run(**options: object) -> list[tuple[object, ...]]:
        reader = stream(spark, **options)
        writer = reader.load(source).writeStream.format("parquet")
        writer = writer.option("checkpointLocation", checkpoint)
        writer.trigger(availableNow=True).start(copy).awaitTermination(600)
        return sorted(tuple(row) for row in spark.read.parquet(copy).collect())

    return run


def stream(spark: SparkSession, **options: object) -> DataStreamReader:
    reader = spark.readStream.format("delta")
    for name, value in options.items():
        reader = reader.option(name, value)
    return reader


def offsets(tmp_path: Path) -> list[tuple[int, int, bool]]:
    """Version, index and whether it is initial, of all batches."""
    files = sorted((tmp_path / "checkpoint" / "offsets").glob("[0-9]*"), key=lambda f: int(f.name))
    found = [json.loads(file.read_text().splitlines()[2]) for file in files]
    return [(o["reservoirVersion"], o["index"], o["isStartingVersion"]) for o in found]


def expected(ids: range) -> list[tuple[object, ...]]:
    return [(each, each * 10) for each in ids]


def test_a_stream_reads_the_rows_that_are_there_then_what_is_appended(
    spark: SparkSession, source: str, run: Run, tmp_path: Path
) -> None:
    assert run() == expected(range(6))
    spark.sql(f"INSERT INTO delta.`{source}` VALUES (6, 60), (7, 70)")
    spark.sql(f"OPTIMIZE delta.`{source}`")
    assert run() == expected(range(8))
    assert run() == expected(range(8))
    assert offsets(tmp_path) == [(3, -1, False), (5, -1, False)]


def test_a_limit_on_files_splits_the_initial_version(run: Run, tmp_path: Path) -> None:
    assert run(maxFilesPerTrigger=1) == expected(range(6))
    assert offsets(tmp_path) == [(2, 0, True), (2, 1, True), (3, -1, False)]


def test_a_stream_starts_with_a_version(run: Run, tmp_path: Path) -> None:
    assert run(startingVersion=1, maxFilesPerTrigger=1) == expected(range(2, 6))
    assert offsets(tmp_path) == [(2, -1, False), (3, -1, False)]


def test_a_delete_in_the_source_is_an_error_that_names_the_options(
    spark: SparkSession, source: str, run: Run
) -> None:
    run()
    spark.sql(f"DELETE FROM delta.`{source}` WHERE id = 1")
    with pytest.raises(Exception, match="skipChangeCommits"):
        run()
    spark.sql(f"INSERT INTO delta.`{source}` VALUES (6, 60)")
    assert run(skipChangeCommits=True) == expected(range(7))


def test_invalid_options_are_refused_before_the_query_starts(
    spark: SparkSession, source: str
) -> None:
    with pytest.raises(InvalidArgumentError, match="maxFilesPerTrigger"):
        stream(spark, maxFilesPerTrigger=0).load(source)
    with pytest.raises(InvalidArgumentError, match="one version"):
        stream(spark, versionAsOf=1).load(source)
    with pytest.raises(InvalidArgumentError, match="not both"):
        stream(spark, startingVersion=1, startingTimestamp="2026-01-01").load(source)
