"""Clustering on write: large writes to clustered tables have their rows arranged."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from deltalake import QueryBuilder
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import lakebed
from lakebed.errors import ConstraintViolationError, InvalidArgumentError, SchemaMismatchError
from lakebed.settings.setting_table import CLUSTERING_MIN_SIZE, CLUSTERING_MODE
from lakebed.spark.internals.plans import estimated_bytes, is_cheap
from testkit.tables.spark_tables import settings

ROWS = 4000
SMALL_FILES = {"delta.targetFileSize": "20kb"}


@pytest.fixture(scope="module")
def source(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    """Rows of which every part of the file has all values of x and y."""
    path = str(tmp_path_factory.mktemp("source") / "parquet")
    spark.range(0, ROWS, 1, 2).selectExpr(
        "id",
        "id * 7919 % 4000 AS x",
        "CAST(id * 1237 % 4000 AS INT) AS y",
        "sha(string(id)) AS text",
    ).write.parquet(path)
    return spark.read.parquet(path)


@pytest.fixture
def small(spark: SparkSession) -> Iterator[None]:
    with settings(spark, {CLUSTERING_MIN_SIZE.name: "10kb"}):
        yield


def make(path: Path, *columns: str, **properties: str) -> Path:
    schema = pa.schema([("id", "int64"), ("x", "int64"), ("y", "int32"), ("text", "string")])
    wanted = {**SMALL_FILES, **properties}
    table = lakebed.write(path, schema.empty_table(), properties=wanted)
    table.cluster_by(list(columns))
    return path


def save(frame: DataFrame, path: Path, mode: str = "append") -> None:
    frame.write.format("delta").mode(mode).save(str(path))


def ids(path: Path) -> list[int]:
    """By delta-rs."""
    query = QueryBuilder().register("t", deltalake.DeltaTable(str(path)))
    return sorted(pa.table(query.execute("SELECT id FROM t").read_all())["id"].to_pylist())


def adds(path: Path) -> list[dict[str, Any]]:
    """Of the newest commit, by its text."""
    newest = max((path / "_delta_log").glob("*.json"))
    actions = [json.loads(line) for line in newest.read_text().splitlines()]
    return [action["add"] for action in actions if "add" in action]


def hit(path: Path, column: str, value: int) -> float:
    """The share of the newest files that may have a value, by their statistics."""
    stats = [json.loads(add["stats"]) for add in adds(path)]
    may = [s["minValues"][column] <= value <= s["maxValues"][column] for s in stats]
    return sum(may) / len(may)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_large_write_is_arranged_by_one_column(
    source: DataFrame, tmp_path: Path, mode: str
) -> None:
    path = make(tmp_path / "t", "x")
    save(source, path, mode)
    assert ids(path) == list(range(ROWS))
    assert len(adds(path)) > 5
    # Each file has a range of its own; a value is at most on one border.
    assert hit(path, "x", 1234) <= 2 / len(adds(path))


@pytest.mark.usefixtures("small")
def test_several_columns_share_the_files(source: DataFrame, tmp_path: Path) -> None:
    path = make(tmp_path / "t", "x", "y")
    save(source, path)
    assert ids(path) == list(range(ROWS))
    assert hit(path, "x", 1234) < 0.7
    assert hit(path, "y", 2345) < 0.7


@pytest.mark.usefixtures("small")
def test_the_files_are_in_no_cube_and_optimize_takes_them(
    spark: SparkSession, source: DataFrame, tmp_path: Path
) -> None:
    path = make(tmp_path / "t", "x")
    save(source, path)
    written = adds(path)
    assert not any(add.get("tags") or add.get("clusteringProvider") for add in written)
    done = lakebed.DeltaTable.forPath(spark, str(path)).optimize().executeCompaction().collect()[0]
    assert done["metrics"]["numFilesRemoved"] == len(written)
    assert ids(path) == list(range(ROWS))
    assert all(add["clusteringProvider"] == "liquid" for add in adds(path))


@pytest.mark.usefixtures("small")
def test_the_first_write_makes_a_clustered_table(source: DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "t"
    writer = source.write.format("delta").clusterBy("X", "y").options(**SMALL_FILES)
    writer.save(str(path))
    assert lakebed.open(path).clustering_columns == ("x", "y")
    assert ids(path) == list(range(ROWS))
    assert hit(path, "x", 1234) < 0.7
    assert hit(path, "y", 2345) < 0.7
    with settings(source.sparkSession, {"spark.databricks.delta.stats.collect": "false"}):
        source.limit(1).write.format("delta").mode("append").save(str(path))
    assert all("x" in json.loads(add["stats"])["minValues"] for add in adds(path))
    lakebed.open(path).restore(version=0)
    with pytest.raises(SchemaMismatchError, match="clustered by x, y, not by y"):
        source.write.format("delta").clusterBy("y").mode("append").save(str(path))
    assert lakebed.open(path).version == 2


def test_small_writes_and_those_of_other_tables_stay_as_they_come(
    spark: SparkSession, source: DataFrame, tmp_path: Path
) -> None:
    path = make(tmp_path / "t", "x")
    tasks = source.rdd.getNumPartitions()
    save(source, path)
    assert len(adds(path)) == tasks
    with settings(spark, {CLUSTERING_MIN_SIZE.name: "10kb", CLUSTERING_MODE.name: "never"}):
        save(source, path)
    assert len(adds(path)) == tasks
    with settings(spark, {CLUSTERING_MIN_SIZE.name: "10kb"}):
        plain = tmp_path / "plain"
        save(source, plain)
        save(source, plain)
    assert len(adds(plain)) == tasks


@pytest.mark.usefixtures("small")
def test_rows_that_are_expensive_to_make_are_made_once(
    spark: SparkSession, source: DataFrame, tmp_path: Path
) -> None:
    path = make(tmp_path / "t", "x")
    made = spark.sparkContext.accumulator(0)

    def counted(value: int) -> int:
        made.add(1)
        return value

    frame = source.withColumn("x", F.udf(counted, "long", useArrow=False)("x"))
    save(frame, path)
    assert made.value == ROWS
    assert ids(path) == list(range(ROWS))
    assert hit(path, "x", 1234) == 1
    with settings(spark, {CLUSTERING_MODE.name: "always", "spark.sql.adaptive.enabled": "false"}):
        save(frame, path)
    assert ids(path) == sorted([*range(ROWS), *range(ROWS)])
    assert hit(path, "x", 1234) == 0.5


@pytest.mark.usefixtures("small")
def test_columns_that_are_dear_but_no_key_do_not_hinder(source: DataFrame, tmp_path: Path) -> None:
    path = make(tmp_path / "t", "x")
    save(source.withColumn("text", F.udf(lambda text: text.upper())("text")), path)
    assert ids(path) == list(range(ROWS))
    assert hit(path, "x", 1234) < 0.5


@pytest.mark.usefixtures("small")
def test_rules_of_the_table_hold_for_arranged_rows(source: DataFrame, tmp_path: Path) -> None:
    path = make(tmp_path / "t", "x", **{"delta.constraints.few": "x < 3990"})
    with pytest.raises(ConstraintViolationError, match="few"):
        save(source, path)
    assert ids(path) == []
    save(source.where("x < 3990"), path)
    assert len(ids(path)) == 3990
    assert hit(path, "x", 1234) < 0.5


@pytest.mark.usefixtures("small")
def test_nulls_names_in_another_case_and_narrower_types_are_fine(
    source: DataFrame, tmp_path: Path
) -> None:
    path = make(tmp_path / "t", "x")
    frame = source.selectExpr("id", "IF(id % 2 = 0, NULL, CAST(x AS INT)) AS X", "y", "text")
    save(frame, path)
    assert ids(path) == list(range(ROWS))
    assert len(adds(path)) > 2


@pytest.mark.usefixtures("small")
def test_a_source_without_the_columns_stays_as_it_comes(source: DataFrame, tmp_path: Path) -> None:
    path = make(tmp_path / "t", "x")
    save(source.drop("x"), path)
    assert ids(path) == list(range(ROWS))
    assert len(adds(path)) == source.rdd.getNumPartitions()


@pytest.mark.parametrize(
    "setting", [{CLUSTERING_MODE.name: "sometimes"}, {CLUSTERING_MIN_SIZE.name: "much"}]
)
def test_settings_that_mean_nothing_are_refused(
    spark: SparkSession, source: DataFrame, tmp_path: Path, setting: dict[str, str]
) -> None:
    path = make(tmp_path / "t", "x")
    with settings(spark, setting), pytest.raises(InvalidArgumentError, match="clusteringOnWrite"):
        save(source, path)
    assert ids(path) == []


def test_plans_say_what_it_costs_to_read_them(spark: SparkSession, source: DataFrame) -> None:
    size = estimated_bytes(source)
    assert 0 < estimated_bytes(source.select("x")) < size < 1_000_000
    cheap = [source, source.where("x > 3").select("x"), source.union(source), spark.range(3)]
    dear = [
        source.join(source.select("id"), "id"),
        source.groupBy("x").count(),
        spark.createDataFrame(spark.sparkContext.parallelize([(1,)]), "x int"),
        source.withColumn("x", F.udf(lambda x: x, "long")("x")),
    ]
    assert all(map(is_cheap, cheap))
    assert not any(map(is_cheap, dear))
