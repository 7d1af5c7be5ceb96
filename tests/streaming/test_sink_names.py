"""Streams into tables by name, and the ways to say where a table is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from batch_feeds import Feed, forget_last_commit, run, writer
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

import lakebed
from lakebed.catalog.embedded import EmbeddedCatalog
from lakebed.errors import SchemaMismatchError
from testkit.readers.other_readers import read_elsewhere
from testkit.tables.spark_tables import settings

SCHEMA = "id long, v string"


@pytest.fixture
def feed(tmp_path: Path) -> Feed:
    made = Feed(tmp_path / "in")
    made.add([{"id": 1, "v": "a"}])
    return made


@pytest.fixture
def base(spark: SparkSession) -> Iterator[str]:
    spark.sql("CREATE DATABASE stream_names")
    yield "stream_names"
    spark.sql("DROP DATABASE stream_names CASCADE")


def run_to_table(stream: DataStreamWriter, name: str) -> StreamingQuery:
    query = stream.toTable(name)
    try:
        assert query.awaitTermination(600)
    finally:
        query.stop()
    return query


def location_of(spark: SparkSession, name: str) -> Path:
    row = spark.sql(f"DESCRIBE DETAIL {name}").first()
    assert row is not None
    return Path(row["location"].removeprefix("file:"))


def rows(path: Path) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in read_elsewhere(path).to_pylist())


def test_a_stream_creates_the_table_of_a_name_and_goes_on_with_it(
    spark: SparkSession, feed: Feed, base: str, tmp_path: Path
) -> None:
    stream = writer(feed.frame(spark, SCHEMA), tmp_path / "c").partitionBy("v")
    first = run_to_table(stream, f"{base}.made")
    feed.add([{"id": 2, "v": "b"}])
    forget_last_commit(tmp_path / "c")
    second = run_to_table(stream, f"{base}.made")
    assert first.id == second.id
    path = location_of(spark, f"{base}.made")
    assert rows(path) == [(1, "a"), (2, "b")]
    assert lakebed.open(path).snapshot.partition_columns == ("v",)
    assert spark.table(f"{base}.made").count() == 2


def test_a_stream_takes_the_rules_of_a_table_that_exists(
    spark: SparkSession, feed: Feed, base: str, tmp_path: Path
) -> None:
    spark.sql(f"CREATE TABLE {base}.known (id INT, v STRING, w INT) USING delta")
    run_to_table(writer(feed.frame(spark, SCHEMA), tmp_path / "c"), f"{base}.known")
    assert rows(location_of(spark, f"{base}.known")) == [(1, "a", None)]
    other = writer(feed.frame(spark, SCHEMA), tmp_path / "d").partitionBy("id")
    with pytest.raises((SchemaMismatchError, AnalysisException), match=r"(?i)partition"):
        run_to_table(other, f"{base}.known")


def test_a_new_clustered_table_by_name(
    spark: SparkSession, feed: Feed, base: str, tmp_path: Path
) -> None:
    stream = writer(feed.frame(spark, SCHEMA), tmp_path / "c").clusterBy("id")
    run_to_table(stream, f"{base}.clustered")
    detail = spark.sql(f"DESCRIBE DETAIL {base}.clustered").first()
    assert detail is not None
    assert detail["clusteringColumns"] == ["id"]
    assert rows(location_of(spark, f"{base}.clustered")) == [(1, "a")]


def test_the_path_may_be_an_option(spark: SparkSession, feed: Feed, tmp_path: Path) -> None:
    path = tmp_path / "t"
    run(writer(feed.frame(spark, SCHEMA), tmp_path / "c").option("path", str(path)))
    assert rows(path) == [(1, "a")]


def test_a_path_with_signs_in_it(spark: SparkSession, feed: Feed, tmp_path: Path) -> None:
    path = tmp_path / "a b%20=ü"
    run(writer(feed.frame(spark, SCHEMA), tmp_path / "c"), path)
    assert lakebed.open(path).to_arrow().to_pylist() == [{"id": 1, "v": "a"}]


def test_files_that_are_no_table_stay_as_they_are(
    spark: SparkSession, feed: Feed, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    path.mkdir()
    (path / "notes.txt").write_text("mine")
    run(writer(feed.frame(spark, SCHEMA), tmp_path / "c"), path)
    assert rows(path) == [(1, "a")]
    assert (path / "notes.txt").read_text() == "mine"


def test_names_of_an_embedded_catalog(spark: SparkSession, feed: Feed, tmp_path: Path) -> None:
    catalog = f"sqlite://{tmp_path}/catalog.db"
    with settings(spark, {"spark.lakebed.catalog": catalog}):
        spark.sql(f"CREATE SCHEMA stream_shop LOCATION '{tmp_path}/shop'")
        try:
            stream = writer(feed.frame(spark, SCHEMA), tmp_path / "c")
            run_to_table(stream, "stream_shop.orders")
            feed.add([{"id": 2, "v": "b"}])
            run_to_table(stream, "stream_shop.orders")
            found = EmbeddedCatalog(catalog, "warehouse").find("stream_shop", "orders")
            assert found is not None
            assert rows(Path(found.location.removeprefix("file:"))) == [(1, "a"), (2, "b")]
        finally:
            spark.sql("DROP SCHEMA stream_shop CASCADE")
