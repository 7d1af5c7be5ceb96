"""replaceWhere on data columns from Spark: the change feed, row ids, deletion vectors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import lakebed
from lakebed.errors import InvalidArgumentError, LakebedError
from lakebed.formats.file_actions import adds_from_table
from lakebed.log.file_state import ADD_FIELDS
from testkit.readers.other_readers import values_by_id
from testkit.tables.spark_tables import settings

Change = tuple[int, int, str]


@pytest.fixture(params=["native", "workers"])
def plane(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[str]:
    with settings(spark, {"spark.lakebed.dataPlane": request.param}):
        yield request.param


def create(spark: SparkSession, path: Path, *parts: str, **properties: str) -> None:
    """ids 0 to 9 in two files, with x ten times as much."""
    frame = spark.range(0, 10, 1, 2).selectExpr("id", "id * 10 AS x", "id % 2 AS p")
    writer = frame.write.format("delta").partitionBy(*parts)
    writer.options(**{f"delta.{key}": value for key, value in properties.items()}).save(str(path))


def replace(spark: SparkSession, path: Path, rows: str, where: str, **options: str) -> None:
    frame = spark.sql(f"SELECT * FROM VALUES {rows} AS new(id, x, p)")
    # No rows of the plan itself, which Spark would not be needed for.
    columns = [f"CAST({name} AS LONG)" for name in ("id", "x", "p")]
    frame = frame.repartition(1).selectExpr(*columns)
    writer = frame.write.format("delta").mode("overwrite").option("replaceWhere", where)
    writer.options(**options).save(str(path))


def actions(path: Path, version: int, kind: str) -> list[dict[str, Any]]:
    log = path / "_delta_log" / f"{version:020}.json"
    parsed = [json.loads(line) for line in log.read_text().splitlines()]
    return [action[kind] for action in parsed if kind in action]


def feed_elsewhere(path: Path, version: int) -> list[Change]:
    """By an independent reader."""
    found = pa.table(deltalake.DeltaTable(str(path)).load_cdf(version, version).read_all())
    rows = found.select(["id", "x", "_change_type"]).to_pylist()
    return sorted(tuple(row.values()) for row in rows)


def feed_here(spark: SparkSession, path: Path, version: int) -> list[Change]:
    reader = spark.read.format("delta").option("readChangeFeed", "true")
    frame = reader.option("startingVersion", version).option("endingVersion", version)
    rows = frame.load(str(path)).select("id", "x", "_change_type").collect()
    return sorted(tuple(row) for row in rows)


@pytest.mark.parametrize(
    ("plane", "parts"), [("native", ("p",)), ("workers", ())], indirect=["plane"]
)
@pytest.mark.usefixtures("plane")
def test_replaced_rows_are_in_the_change_feed(
    spark: SparkSession, tmp_path: Path, parts: tuple[str, ...]
) -> None:
    create(spark, tmp_path, *parts, enableChangeDataFeed="true")
    replace(spark, tmp_path, "(3, -3, 1), (30, -30, 0)", "id IN (3, 4, 30) OR id % 100 = 9")
    kept = {number: number * 10 for number in (0, 1, 2, 5, 6, 7, 8)}
    assert values_by_id(tmp_path) == {**kept, 3: -3, 30: -30}
    assert actions(tmp_path, 1, "cdc")
    changes = [(3, -3, "insert"), (3, 30, "delete"), (4, 40, "delete"), (9, 90, "delete")]
    expected = sorted([*changes, (30, -30, "insert")])
    assert feed_here(spark, tmp_path, 1) == expected
    assert feed_elsewhere(tmp_path, 1) == expected
    metrics = actions(tmp_path, 1, "commitInfo")[0]["operationMetrics"]
    copied = 5 if parts else 7
    assert metrics["numCopiedRows"] == str(copied)
    assert (metrics["numDeletedRows"], metrics["numOutputRows"]) == ("3", str(copied + 2))
    assert int(metrics["numAddedChangeFiles"]) == len(actions(tmp_path, 1, "cdc"))


def test_only_files_with_replaced_rows_are_written_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    create(spark, tmp_path)
    replace(spark, tmp_path, "(7, 0, 0)", "hash(id) = hash(7L)")
    assert len(actions(tmp_path, 1, "remove")) == 1
    assert values_by_id(tmp_path) == {**{number: number * 10 for number in range(10)}, 7: 0}


def test_nothing_to_replace_is_an_append(spark: SparkSession, tmp_path: Path) -> None:
    create(spark, tmp_path, enableChangeDataFeed="true")
    replace(spark, tmp_path, "(70, 0, 0)", "id + 0 = 70")
    assert not actions(tmp_path, 1, "remove")
    assert feed_here(spark, tmp_path, 1) == [(70, 0, "insert")]
    assert len(values_by_id(tmp_path)) == 11


@pytest.mark.usefixtures("plane")
def test_rows_that_stay_keep_their_ids(spark: SparkSession, tmp_path: Path) -> None:
    create(spark, tmp_path, enableRowTracking="true")
    before = ids_of(tmp_path)
    for number in (3, 4):
        replace(spark, tmp_path, f"({number}, 0, 0)", f"id = {number}")
    after = ids_of(tmp_path)
    stay = [number for number in range(10) if number not in (3, 4)]
    assert {number: after[number] for number in stay} == {n: before[n] for n in stay}
    assert [after[number][1] for number in (3, 4)] == [1, 2]
    assert len({row_id for row_id, _ in after.values()}) == 10
    assert min(after[number][0] for number in (3, 4)) > max(row_id for row_id, _ in before.values())
    assert values_by_id(tmp_path)[4] == 0


def ids_of(path: Path) -> dict[int, tuple[int, int]]:
    """The ids and versions of the rows, from the files themselves."""
    snapshot = lakebed.open(path).snapshot
    prefix = "delta.rowTracking.materialized"
    names = [
        snapshot.metadata.configuration[f"{prefix}{each}ColumnName"]
        for each in ("RowId", "RowCommitVersion")
    ]
    found = {}
    for add in adds_from_table(snapshot.files(list(ADD_FIELDS))):
        for place, row in enumerate(pq.read_table(path / add.path).to_pylist()):
            row_id, version = (row.get(name) for name in names)
            assert add.base_row_id is not None
            assert add.default_row_commit_version is not None
            found[row["id"]] = (
                add.base_row_id + place if row_id is None else row_id,
                add.default_row_commit_version if version is None else version,
            )
    return found


@pytest.mark.usefixtures("plane")
def test_with_deletion_vectors_rows_are_marked(spark: SparkSession, tmp_path: Path) -> None:
    create(spark, tmp_path, enableDeletionVectors="true", enableChangeDataFeed="true")
    replace(spark, tmp_path, "(3, -3, 1)", "id IN (3, 4)")
    adds = actions(tmp_path, 1, "add")
    assert sum("deletionVector" in add for add in adds) == 1
    assert not actions(tmp_path, 1, "cdc")
    changes = [(3, -3, "insert"), (3, 30, "delete"), (4, 40, "delete")]
    assert feed_here(spark, tmp_path, 1) == changes
    shown = spark.read.format("delta").load(str(tmp_path)).collect()
    assert {row.id: row.x for row in shown} == {
        **{number: number * 10 for number in range(10) if number != 4},
        3: -3,
    }


def test_new_columns_and_mapped_names(spark: SparkSession, tmp_path: Path) -> None:
    mapped = {"columnMapping.mode": "name", "enableChangeDataFeed": "true"}
    create(spark, tmp_path, **mapped, enableRowTracking="true")
    frame = spark.range(3, 4).repartition(1).selectExpr("id", "-1L AS x", "0L AS p", "'new' AS n")
    writer = frame.write.format("delta").mode("overwrite").option("mergeSchema", "true")
    writer.option("replaceWhere", "id = 3").save(str(tmp_path))
    rows = spark.read.format("delta").load(str(tmp_path)).where("id IN (2, 3)").orderBy("id")
    assert [tuple(row) for row in rows.collect()] == [(2, 20, 0, None), (3, -1, 0, "new")]
    reader = spark.read.format("delta").option("readChangeFeed", "true")
    feed = reader.option("startingVersion", 1).load(str(tmp_path)).orderBy("_change_type")
    found = [(row.x, row.n, row._change_type) for row in feed.collect()]
    assert found == [(30, None, "delete"), (-1, "new", "insert")]


def test_a_write_that_changes_no_data_has_no_changes_to_tell(
    spark: SparkSession, tmp_path: Path
) -> None:
    create(spark, tmp_path, enableDeletionVectors="true", enableChangeDataFeed="true")
    replace(spark, tmp_path, "(3, 30, 1)", "id = 3", dataChange="false")
    found = [each for kind in ("add", "remove") for each in actions(tmp_path, 1, kind)]
    assert {each["dataChange"] for each in found} == {False}
    assert len(found) == 3
    assert not actions(tmp_path, 1, "cdc")
    assert feed_here(spark, tmp_path, 1) == []


def test_what_fails_changes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    create(spark, tmp_path, enableChangeDataFeed="true")
    with pytest.raises(LakebedError, match="id < 2"):
        replace(spark, tmp_path, "(7, 0, 0)", "id < 2")
    with pytest.raises(InvalidArgumentError, match="another result each time"):
        replace(spark, tmp_path, "(7, 0, 0)", "id < 100 AND rand() >= 0")
    assert lakebed.open(tmp_path).version == 0
    assert len(values_by_id(tmp_path)) == 10
