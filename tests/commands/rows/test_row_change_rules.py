"""What holds for every change of rows: the rules of the table, its ids, and its errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import lakebed
from lakebed import DeltaTable
from lakebed.errors import (
    AppendOnlyError,
    ConstraintViolationError,
    InvalidArgumentError,
    JobFailedError,
    MultipleMatchesError,
    RowConflictError,
    SchemaError,
    SchemaMismatchError,
)
from lakebed.settings.setting_table import DATA_PLANE
from lakebed.spec.schema import StructType, parse_schema
from testkit.tables.spark_tables import create, last_commit, settings

VECTORS = {"delta.enableDeletionVectors": "true"}
COPIES = {"delta.enableDeletionVectors": "false"}
WAYS = pytest.mark.parametrize("way", [VECTORS, COPIES], ids=["vectors", "copies"])


def make(spark: SparkSession, path: Path, sql: str, **options: str) -> DeltaTable:
    """A table of one file."""
    spark.sql(sql).coalesce(1).write.format("delta").options(**options).save(str(path))
    return DeltaTable.forPath(spark, str(path))


def rows(table: DeltaTable) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in table.toDF().collect()), key=str)


def adds(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = lakebed.open(path).snapshot.files().to_pylist()
    return found


def field(name: str, kind: str, **metadata: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


def schema(*fields: dict[str, Any]) -> StructType:
    return parse_schema(json.dumps({"type": "struct", "fields": list(fields)}))


# --- values --------------------------------------------------------------------------------------


@WAYS
def test_a_field_of_a_struct_is_set_alone(
    spark: SparkSession, tmp_path: Path, way: dict[str, str]
) -> None:
    sql = "SELECT id, if(id = 2, NULL, named_struct('a', id, 'b', 'x')) AS s FROM range(3)"
    table = make(spark, tmp_path / "t", sql, **way)
    table.update("id > 0", {"s.a": "s.a + 10"})
    assert [row[1] for row in rows(table)] == [(0, "x"), (11, "x"), (None, None)]


def test_values_are_converted_to_the_type_of_the_column(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = make(spark, tmp_path / "t", "SELECT id, 'a' AS name, 1.5D AS price FROM range(2)")
    table.update("id = 0", {"name": "7", "price": F.lit(3), "id": "'12'"})
    assert rows(table) == [(1, "a", 1.5), (12, "7", 3.0)]


@WAYS
def test_generated_columns_follow(spark: SparkSession, tmp_path: Path, way: dict[str, str]) -> None:
    path = tmp_path / "t"
    twice = field("twice", "long", **{"delta.generationExpression": "id * 2"})
    create(path, schema(field("id", "long"), field("n", "long"), twice), properties=way)
    spark.sql("SELECT id, id AS n FROM range(3)").write.format("delta").mode("append").save(
        str(path)
    )
    table = DeltaTable.forPath(spark, str(path))
    table.update("id = 1", {"id": "10"})
    assert rows(table) == [(0, 0, 0), (10, 1, 20), (2, 2, 4)]
    source = spark.sql("SELECT 2L AS key UNION ALL SELECT 50")
    merge = table.alias("t").merge(source, "t.id = key")
    merge = merge.whenMatchedUpdate(set={"id": "7"})
    merge.whenNotMatchedInsert(values={"id": "key", "n": "0"}).execute()
    assert rows(table) == [(0, 0, 0), (10, 1, 20), (50, 0, 100), (7, 2, 14)]
    with pytest.raises(ConstraintViolationError, match="twice"):
        table.update("id = 0", {"twice": "1"})


@WAYS
def test_identity_columns_keep_and_draw_values(
    spark: SparkSession, tmp_path: Path, way: dict[str, str]
) -> None:
    path = tmp_path / "t"
    marks = {
        "delta.identity.start": 1,
        "delta.identity.step": 1,
        "delta.identity.allowExplicitInsert": False,
    }
    properties = {**way, "delta.enableChangeDataFeed": "true"}
    create(path, schema(field("key", "long", **marks), field("n", "long")), properties=properties)
    spark.range(4).coalesce(1).selectExpr("id AS n").write.format("delta").mode("append").save(
        str(path)
    )
    table = DeltaTable.forPath(spark, str(path))
    before = {row[1]: row[0] for row in rows(table)}
    table.update("n = 1", {"n": "-1"})
    merge = table.alias("t").merge(spark.range(3, 6).alias("s"), "t.n = s.id")
    merge = merge.whenMatchedUpdate(set={"n": "-3"})
    merge.whenNotMatchedInsert(values={"n": "s.id"}).execute()
    after = {row[1]: row[0] for row in rows(table)}
    assert {n: after[n] for n in (0, -1, 2, -3)} == dict(
        zip((0, -1, 2, -3), (before[n] for n in range(4)), strict=True)
    )
    assert after[4] != after[5]
    assert min(after[4], after[5]) > max(before.values())
    inserted = {row["n"]: row["key"] for row in feed(spark, path) if row[0] == "insert"}
    assert inserted == {4: after[4], 5: after[5]}
    with pytest.raises(InvalidArgumentError, match="identity"):
        table.update(set={"key": "1"})


@WAYS
def test_rules_of_the_table_hold_and_a_bad_row_changes_nothing(
    spark: SparkSession, tmp_path: Path, way: dict[str, str]
) -> None:
    path = tmp_path / "t"
    columns = [field("id", "long"), {**field("n", "integer"), "nullable": False}]
    create(path, schema(*columns), properties={**way, "delta.constraints.small": "id < 100"})
    spark.sql("SELECT id, 1 AS n FROM range(3)").write.format("delta").mode("append").save(
        str(path)
    )
    table, before = DeltaTable.forPath(spark, str(path)), lakebed.open(path).version
    with pytest.raises(ConstraintViolationError, match="small"):
        table.update("id = 1", {"id": "100"})
    with pytest.raises(ConstraintViolationError, match="NOT NULL"):
        table.update("id = 1", {"n": "NULL"})
    merge = table.alias("t").merge(spark.range(500, 501).alias("s"), "t.id = s.id")
    with pytest.raises(ConstraintViolationError, match="small"):
        merge.whenNotMatchedInsert(values={"id": "s.id", "n": "1"}).execute()
    assert lakebed.open(path).version == before
    assert rows(table) == [(0, 1), (1, 1), (2, 1)]


@pytest.mark.parametrize("plane", ["native", "workers"])
def test_a_null_struct_with_a_field_that_takes_no_nulls_is_refused(
    spark: SparkSession, tmp_path: Path, plane: str
) -> None:
    inner = {"type": "struct", "fields": [{**field("a", "integer"), "nullable": False}]}
    path, nested = tmp_path / "t", field("s", inner)
    create(path, schema(field("id", "long"), nested))
    with settings(spark, {DATA_PLANE.name: plane}):
        _check_null_structs(spark, path)


def _check_null_structs(spark: SparkSession, path: Path) -> None:
    given = "SELECT id, named_struct('a', 1) AS s FROM range(2)"
    spark.sql(given).write.format("delta").mode("append").save(str(path))
    table, before = DeltaTable.forPath(spark, str(path)), lakebed.open(path).version
    null = spark.sql("SELECT id, cast(null AS struct<a: int>) AS s FROM range(1, 3)").alias("s")
    merge = table.alias("t").merge(null, "t.id = s.id")
    name = f"delta.`{path}`"
    for run in (
        lambda: table.update("id = 1", {"s": "NULL"}),
        lambda: merge.whenMatchedUpdateAll().execute(),
        lambda: merge.whenNotMatchedInsertAll().execute(),
        lambda: null.write.format("delta").mode("append").save(str(path)),
        lambda: spark.sql(f"INSERT INTO {name} (id) VALUES (5)"),
        lambda: spark.sql(f"INSERT INTO {name} VALUES (5, NULL)"),
    ):
        with pytest.raises(ConstraintViolationError, match="NOT NULL"):
            run()
    assert lakebed.open(path).version == before


def test_merge_inserts_defaults(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    default = field("n", "integer", CURRENT_DEFAULT="7")
    properties = {"delta.feature.allowColumnDefaults": "supported"}
    create(path, schema(field("id", "long"), default), properties=properties)
    table = DeltaTable.forPath(spark, str(path))
    merge = table.alias("t").merge(spark.range(1).alias("s"), "t.id = s.id")
    merge.whenNotMatchedInsert(values={"id": "s.id"}).execute()
    assert rows(table) == [(0, 7)]


# --- files ---------------------------------------------------------------------------------------


def test_a_file_without_rows_is_removed(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = make(spark, path, "SELECT id FROM range(4)", **VECTORS)
    spark.range(10, 14).coalesce(1).write.format("delta").mode("append").save(str(path))
    assert table.delete("id < 10 OR id = 12").first()[0] == 5
    (left,) = adds(path)
    assert left["deletionVector"]["cardinality"] == 1
    assert json.loads(left["stats"])["tightBounds"] is False
    metrics = last_commit(path)["operationMetrics"]
    assert metrics["numDeletedRows"] == "5"
    assert metrics["numRemovedFiles"] == "1"
    assert metrics["numDeletionVectorsAdded"] == "1"
    table.delete("id >= 10")
    assert adds(path) == []


def test_vectors_grow(spark: SparkSession, tmp_path: Path) -> None:
    table = make(spark, tmp_path / "t", "SELECT id FROM range(100)", **VECTORS)
    for number in range(3):
        table.delete(f"id % 10 = {number}")
    (file,) = adds(tmp_path / "t")
    assert file["deletionVector"]["cardinality"] == 30
    assert len(rows(table)) == 70


def test_whole_partitions_go_without_a_look(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    frame = spark.sql("SELECT id, id % 2 AS p FROM range(10)")
    frame.write.format("delta").partitionBy("p").save(str(path))
    for file in path.rglob("*.parquet"):
        if "p=1" in str(file):
            file.unlink()
    assert DeltaTable.forPath(spark, str(path)).delete("p = 1").first()[0] == 5
    assert lakebed.open(path).to_arrow().num_rows == 5


@WAYS
def test_files_without_statistics(spark: SparkSession, tmp_path: Path, way: dict[str, str]) -> None:
    path = tmp_path / "t"
    make(spark, path, "SELECT id FROM range(5)", **way)
    log = next((path / "_delta_log").glob("*0.json"))
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    # As a writer would have it that knows neither statistics nor digests.
    kept = [line for line in lines if line.keys() & {"protocol", "metaData", "add"}]
    for line in kept:
        line.get("add", {}).pop("stats", None)
        for action in line.values():
            action.pop("lakebedEnd", None)
    log.write_text("".join(json.dumps(line) + "\n" for line in kept))
    for extra in (path / "_delta_log").glob("*.crc"):
        extra.unlink()
    table = DeltaTable.forPath(spark, str(path))
    table.delete("id = 2")
    table.update("id = 3", {"id": "30"})
    assert rows(table) == [(0,), (1,), (30,), (4,)]


TIMES = {"executionTimeMs", "scanTimeMs", "rewriteTimeMs"}
FILE_METRICS = TIMES | {
    *("numAddedFiles", "numAddedBytes", "numRemovedFiles", "numRemovedBytes"),
    *("numCopiedRows", "numAddedChangeFiles"),
    *("numDeletionVectorsAdded", "numDeletionVectorsRemoved", "numDeletionVectorsUpdated"),
}
MERGE_METRICS = TIMES | {
    *("numSourceRows", "numOutputRows", "materializeSourceTimeMs", "numTargetRowsCopied"),
    *("numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted"),
    *("numTargetRowsMatchedUpdated", "numTargetRowsMatchedDeleted"),
    *("numTargetRowsNotMatchedBySourceUpdated", "numTargetRowsNotMatchedBySourceDeleted"),
    *("numTargetFilesAdded", "numTargetFilesRemoved", "numTargetChangeFilesAdded"),
    *("numTargetBytesAdded", "numTargetBytesRemoved", "numTargetDeletionVectorsAdded"),
    *("numTargetDeletionVectorsRemoved", "numTargetDeletionVectorsUpdated"),
}


@WAYS
def test_the_history_has_the_metrics_of_delta_spark(
    spark: SparkSession, tmp_path: Path, way: dict[str, str]
) -> None:
    """Their names are those that delta-spark 4.4.0 records for the same commands."""
    path = tmp_path / "t"
    table = make(spark, path, "SELECT id, 'x' AS name FROM range(10)", **way)
    vectors = int(way is VECTORS)
    table.delete("id IN (1, 2)")
    found = last_commit(path)["operationMetrics"]
    assert set(found) == FILE_METRICS | {"numDeletedRows"}
    assert (found["numDeletedRows"], found["numDeletionVectorsAdded"]) == ("2", str(vectors))
    assert found["numCopiedRows"] == ("0" if vectors else "8")
    table.update("id = 3", {"name": "'y'"})
    found = last_commit(path)["operationMetrics"]
    assert set(found) == FILE_METRICS | {"numUpdatedRows"}
    assert (found["numUpdatedRows"], found["numDeletionVectorsUpdated"]) == ("1", str(vectors))
    merge = table.alias("t").merge(spark.range(8, 12).alias("s"), "t.id = s.id")
    merge = merge.whenMatchedUpdate("s.id = 8", {"name": "'m'"}).whenMatchedDelete()
    merge.whenNotMatchedInsert(values={"id": "s.id"}).execute()
    found = last_commit(path)["operationMetrics"]
    assert set(found) == MERGE_METRICS
    copied = int(found["numTargetRowsCopied"])
    assert (copied == 0) == bool(vectors)
    assert found["numOutputRows"] == str(copied + 3)
    assert (found["numSourceRows"], found["numTargetRowsMatchedDeleted"]) == ("4", "1")
    table.delete()
    assert set(last_commit(path)["operationMetrics"]) == FILE_METRICS | {"numDeletedRows"}


@WAYS
def test_a_change_that_finds_nothing_commits_nothing(
    spark: SparkSession, tmp_path: Path, way: dict[str, str]
) -> None:
    table = make(spark, tmp_path / "t", "SELECT id FROM range(4)", **way)
    assert table.delete("id + 1 = 77").first()[0] == 0
    assert table.update("id + 1 = 77", {"id": "0"}).first()[0] == 0
    merge = table.alias("t").merge(spark.range(50, 51).alias("s"), "t.id = s.id")
    assert merge.whenMatchedDelete().execute().first()[0] == 0
    assert lakebed.open(tmp_path / "t").version == 0


# --- merge ---------------------------------------------------------------------------------------


@WAYS
def test_new_columns_of_the_source(
    spark: SparkSession, tmp_path: Path, way: dict[str, str]
) -> None:
    table = make(spark, tmp_path / "t", "SELECT id, 'old' AS name FROM range(3)", **way)
    source = spark.sql("SELECT id, 'new' AS name, id * 10 AS extra FROM range(2, 4)").alias("s")
    merge = table.alias("t").merge(source, "t.id = s.id").withSchemaEvolution()
    merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    assert table.toDF().columns == ["id", "name", "extra"]
    assert rows(table) == [
        (0, "old", None),
        (1, "old", None),
        (2, "new", 20),
        (3, "new", 30),
    ]
    plain = table.alias("t").merge(spark.range(1).alias("s"), "t.id = s.id")
    with pytest.raises(SchemaMismatchError, match="name"):
        plain.whenMatchedUpdateAll().execute()


def test_several_rows_of_the_source_for_one_of_the_table(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = make(spark, tmp_path / "t", "SELECT id, 'x' AS name FROM range(5)", **VECTORS)
    source = spark.sql("SELECT 3L AS id, concat('v', id) AS name FROM range(3)").alias("s")
    merge = table.alias("t").merge(source, "t.id = s.id")
    shown = r"3 rows.* one row of the table, {'id': 3}, .*{'id': 3, 'name': 'v0'}"
    with pytest.raises(MultipleMatchesError, match=shown):
        merge.whenMatchedUpdate(set={"name": "s.name"}).execute()
    unequal = table.alias("t").merge(source, "t.id > 3 AND s.id = 3")
    with pytest.raises(MultipleMatchesError, match=r"table, {'id': 4, 'name': 'x'}, "):
        unequal.whenMatchedUpdate(set={"name": "s.name"}).execute()
    assert lakebed.open(tmp_path / "t").version == 0
    merge = table.alias("t").merge(source, "t.id = s.id")
    merge.whenMatchedUpdate("s.name = 'v1'", {"name": "s.name"}).execute()
    assert (3, "v1") in rows(table)
    assert table.alias("t").merge(source, "t.id = s.id").whenMatchedDelete().execute().first()[0]
    assert [row[0] for row in rows(table)] == [0, 1, 2, 4]


def test_only_files_that_the_source_can_meet_are_read(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    frame = spark.sql("SELECT id, id % 4 AS p, id AS n FROM range(40)")
    frame.repartition("p").write.format("delta").partitionBy("p").save(str(path))
    for file in path.rglob("*.parquet"):
        if "p=1" not in str(file):
            file.unlink()
    table = DeltaTable.forPath(spark, str(path))
    source = spark.sql("SELECT 5L AS id, 1L AS p").alias("s")
    merge = table.alias("t").merge(source, "t.p = s.p AND t.id = s.id")
    counts = merge.whenMatchedUpdate(set={"n": "-1"}).execute().first()
    assert counts["num_updated_rows"] == 1


@WAYS
def test_a_source_that_is_new_each_time_is_taken_once(
    spark: SparkSession, tmp_path: Path, way: dict[str, str]
) -> None:
    path = tmp_path / "t"
    table = make(spark, path, "SELECT id, 0L AS n FROM range(200)", **way)
    drawn = spark.range(400).selectExpr("id", "rand() AS r").where("r < 0.5").alias("s")
    merge = table.alias("t").merge(drawn, "t.id = s.id")
    merge = merge.whenMatchedUpdate(set={"n": "1"})
    merge.whenNotMatchedInsert(values={"id": "s.id", "n": "2"}).execute()
    found = rows(table)
    assert len({row[0] for row in found}) == len(found)
    metrics = last_commit(path)["operationMetrics"]
    changed = sum(1 for row in found if row[1])
    assert int(metrics["numSourceRows"]) == changed
    assert int(metrics["numTargetRowsUpdated"]) == sum(1 for row in found if row[1] == 1)
    assert int(metrics["numTargetRowsInserted"]) == len(found) - 200


@WAYS
def test_the_feed_has_what_was_written(
    spark: SparkSession, tmp_path: Path, way: dict[str, str]
) -> None:
    """Values that are drawn are drawn once."""
    path = tmp_path / "t"
    options = {**way, "delta.enableChangeDataFeed": "true"}
    table = make(spark, path, "SELECT id, 'x' AS name FROM range(4)", **options)
    table.update("id < 2", {"name": "uuid()"})
    assert changed(spark, path) == {row for row in rows(table) if row[0] < 2}
    merge = table.alias("t").merge(spark.range(3, 6).alias("s"), "t.id = s.id")
    merge = merge.whenMatchedUpdate(set={"name": "uuid()"})
    merge.whenNotMatchedInsert(values={"id": "s.id", "name": "uuid()"}).execute()
    assert changed(spark, path) == {row for row in rows(table) if row[0] > 2}


def feed(spark: SparkSession, path: Path) -> list[Any]:
    """The changes of the newest version."""
    reader = spark.read.format("delta").option("readChangeFeed", "true")
    frame = reader.option("startingVersion", lakebed.open(path).version).load(str(path))
    return list(frame.select("_change_type", *frame.columns[:-3]).collect())


def changed(spark: SparkSession, path: Path) -> set[tuple[Any, ...]]:
    """The rows as the newest version left them."""
    return {tuple(row[1:]) for row in feed(spark, path) if row[0] in ("insert", "update_postimage")}


def test_columns_of_the_source_by_dataframe(spark: SparkSession, tmp_path: Path) -> None:
    table = make(spark, tmp_path / "t", "SELECT id, 'x' AS name FROM range(2)")
    source = spark.sql("SELECT 1L AS key, 'y' AS other")
    merge = table.merge(source, F.col("id") == source["key"])
    merge.whenMatchedUpdate(set={"name": source["other"]}).execute()
    assert rows(table) == [(0, "x"), (1, "y")]


# --- row ids -------------------------------------------------------------------------------------


def ids(path: Path) -> dict[int, tuple[int, int]]:
    """Id and version of each row by its first column, from the files themselves."""
    snapshot = lakebed.open(path).snapshot
    names = [
        snapshot.metadata.configuration[f"delta.rowTracking.materialized{each}ColumnName"]
        for each in ("RowId", "RowCommitVersion")
    ]
    found: dict[int, tuple[int, int]] = {}
    for file in snapshot.files().to_pylist():
        table = pq.read_table(path / file["path"], partitioning=None)
        columns = [
            table.column(name).to_pylist() if name in table.column_names else [None] * len(table)
            for name in names
        ]
        for place, key in enumerate(table.column("id").to_pylist()):
            kept, version = columns[0][place], columns[1][place]
            found_id = file["baseRowId"] + place if kept is None else kept
            default = file["defaultRowCommitVersion"]
            found.setdefault(key, (found_id, default if version is None else version))
    return found


def test_rows_keep_their_ids_when_they_are_copied(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    options = {**COPIES, "delta.enableRowTracking": "true"}
    table = make(spark, path, "SELECT id, 'x' AS name FROM range(6)", **options)
    first = ids(path)
    table.update("id = 2", {"name": "'y'"})
    second = ids(path)
    assert {key: value[0] for key, value in second.items()} == {
        key: value[0] for key, value in first.items()
    }
    assert {key: value[1] for key, value in second.items()} == {
        key: 1 if key == 2 else 0 for key in first
    }
    merge = table.alias("t").merge(spark.range(5, 8).alias("s"), "t.id = s.id")
    merge.whenMatchedDelete().whenNotMatchedInsert(values={"id": "s.id", "name": "'new'"}).execute()
    third = ids(path)
    assert {key: third[key] for key in range(5)} == {key: second[key] for key in range(5)}
    assert len({value[0] for value in third.values()}) == 7
    assert {third[6][1], third[7][1]} == {2}


def test_updated_rows_keep_their_ids_beside_vectors(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    options = {**VECTORS, "delta.enableRowTracking": "true"}
    table = make(spark, path, "SELECT id, 'x' AS name FROM range(6)", **options)
    first = ids(path)
    table.update("id = 2", {"id": "20"})
    assert ids(path)[20] == (first[2][0], 1)
    table.update("id = 20", {"id": "21"})
    assert ids(path)[21] == (first[2][0], 2)


# --- other writers -------------------------------------------------------------------------------


def meanwhile(monkeypatch: pytest.MonkeyPatch, do: Callable[[], object]) -> None:
    """Lets another writer commit once, just before the next change commits."""
    from lakebed.transaction import Transaction

    original = Transaction.commit
    done: list[bool] = []

    def commit(self: Transaction) -> Any:
        if not done:
            done.append(True)
            do()
        return original(self)

    monkeypatch.setattr(Transaction, "commit", commit)


@pytest.mark.parametrize("way", ["id = 7", "column"])
def test_two_changes_of_different_rows_of_a_file(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """Neither is planned again, though the new files have rows before and after these."""
    path = tmp_path / "t"
    table = make(spark, path, "SELECT id, 'x' AS name FROM range(10)", **VECTORS)
    meanwhile(monkeypatch, lambda: table.update("id IN (3, 8)", {"name": "'theirs'"}))
    condition = F.col("id") == 7 if way == "column" else way
    table.update(condition, {"name": "'ours'"})
    assert (lakebed.open(path).version, last_commit(path)["readVersion"]) == (2, 0)
    found = dict(rows(table))
    assert (found[3], found[7], found[8], len(found)) == ("theirs", "ours", "theirs", 10)
    monkeypatch.undo()
    meanwhile(monkeypatch, lambda: table.update("id IN (1, 4)", {"name": "'late'"}))
    source = spark.range(2, 7, 4).alias("s")
    merge = table.alias("t").merge(source, "t.id = s.id")
    merge.whenMatchedUpdate(set={"name": "'merged'"}).execute()
    assert (lakebed.open(path).version, last_commit(path)["readVersion"]) == (4, 2)
    found = dict(rows(table))
    assert [found[each] for each in (1, 2, 4, 6)] == ["late", "merged", "late", "merged"]
    assert len(found) == 10


def test_two_changes_of_the_same_row(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t"
    table = make(spark, path, "SELECT id, 'x' AS name FROM range(10)", **VECTORS)
    meanwhile(monkeypatch, lambda: table.update("id = 3", {"name": "'theirs'"}))
    with pytest.raises(RowConflictError, match=r"\(row 3\).*{'id': 3, 'name': 'x'}") as caught:
        table.update("id IN (3, 4)", {"name": "'ours'"})
    assert caught.value.values == ({"id": 3, "name": "x"},)
    found = dict(rows(table))
    assert (found[3], found[4]) == ("theirs", "x")


def test_what_another_writer_made_match_is_changed_too(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Repeated from its plan: as if it had come later."""
    path = tmp_path / "t"
    table = make(spark, path, "SELECT id, id AS n FROM range(10)", **VECTORS)
    meanwhile(monkeypatch, lambda: table.update("id = 3", {"n": "100"}))
    table.delete("n > 8")
    assert [row[0] for row in rows(table)] == [0, 1, 2, 4, 5, 6, 7, 8]


@WAYS
def test_files_that_are_rearranged_meanwhile(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: dict[str, str]
) -> None:
    path = tmp_path / "t"
    table = make(spark, path, "SELECT id FROM range(10)", **way)

    def rearrange() -> None:
        frame = spark.read.format("delta").load(str(path)).repartition(3)
        writer = frame.write.format("delta").mode("overwrite").option("dataChange", "false")
        writer.save(str(path))

    meanwhile(monkeypatch, rearrange)
    table.delete("id % 2 = 0")
    assert [row[0] for row in rows(table)] == [1, 3, 5, 7, 9]


# --- the second data plane -----------------------------------------------------------------------


@WAYS
def test_on_workers(spark: SparkSession, tmp_path: Path, way: dict[str, str]) -> None:
    path = tmp_path / "t"
    feed = {"delta.enableChangeDataFeed": "true"}
    table = make(spark, path, "SELECT id, id % 2 AS p, 'x' AS name FROM range(10)", **way, **feed)
    spark.conf.set("spark.lakebed.dataPlane", "workers")
    try:
        table.delete("id = 1")
        table.update("id = 2", {"name": "'y'"})
        merge = table.alias("t").merge(spark.range(3, 12, 4).alias("s"), "t.id = s.id")
        merge = merge.whenMatchedUpdate(set={"name": "'m'"})
        merge.whenNotMatchedInsert(values={"id": "s.id", "name": "'n'"}).execute()
        found = {row[0]: row[2] for row in rows(table)}
    finally:
        spark.conf.unset("spark.lakebed.dataPlane")
    expected = dict.fromkeys([0, 4, 5, 6, 8, 9], "x") | {2: "y", 3: "m", 7: "m", 11: "n"}
    assert found == expected
    assert {row[0]: row[2] for row in rows(table)} == expected
    reader = spark.read.format("delta").option("readChangeFeed", "true")
    changes = reader.option("startingVersion", 1).load(str(path))
    counted = {tuple(row) for row in changes.groupBy("_change_type").count().collect()}
    assert counted == {
        ("delete", 1),
        ("update_preimage", 3),
        ("update_postimage", 3),
        ("insert", 1),
    }


# --- errors --------------------------------------------------------------------------------------


def test_bad_changes_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    table = make(spark, tmp_path / "t", "SELECT id, 'x' AS name FROM range(4)", **VECTORS)
    with pytest.raises(InvalidArgumentError, match="another result each time"):
        table.delete("rand() > 0.5")
    with pytest.raises(SchemaError, match="nam"):
        table.update(set={"nam": "1"})
    with pytest.raises(InvalidArgumentError, match="given a value"):
        table.update(set={"id": "1", "ID": "2"})
    assert lakebed.open(tmp_path / "t").version == 0


def test_append_only_tables(spark: SparkSession, tmp_path: Path) -> None:
    options = {"delta.appendOnly": "true"}
    table = make(spark, tmp_path / "t", "SELECT id FROM range(4)", **options)
    with pytest.raises(AppendOnlyError, match="append-only"):
        table.delete("id = 1")


def test_rows_that_change_under_a_command(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A function that lies about being deterministic: the counts differ, so nothing happens."""
    # So many rows that the counts are hardly ever the same by chance.
    table = make(spark, tmp_path / "t", "SELECT id FROM range(1000000)", **VECTORS)
    from lakebed.commands.rows import frame_updates, row_condition

    monkeypatch.setattr(row_condition, "check_condition", lambda *_: None)
    # Of a larger table, which is looked at twice.
    monkeypatch.setattr(frame_updates, "_TASK_BYTES", 0)
    with pytest.raises(JobFailedError, match="nothing was committed"):
        table.update("rand() > 0.5", {"id": "0"})
    assert lakebed.open(tmp_path / "t").version == 0
