"""REORG ... APPLY (UPGRADE UNIFORM ...), and writes to the tables that it makes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.table import StaticTable
from pyspark.sql import SparkSession

import lakebed
from lakebed.errors import (
    InvalidArgumentError,
    InvalidCommitError,
    SchemaError,
    TablePropertyError,
)
from testkit.readers.iceberg_compat_facts import problems
from testkit.readers.log_json import actions_of, configuration_of, live_adds
from testkit.readers.other_readers import read_elsewhere

FORMATS = "delta.universalFormat.enabledFormats"
LOCAL = "spark.lakebed.optimize.localBytes"
PLANE = "spark.lakebed.dataPlane"
FLAT = pa.table({"id": [1, 2, 3, 4], "p": ["a", "b", "a", None]})
NESTED = FLAT.append_column("l", pa.array([[1], [], None, [4]])).append_column(
    "m", pa.array([[("a", [1])], [], None, []], pa.map_(pa.string(), pa.list_(pa.int32())))
)


def rows(found: pa.Table) -> list[str]:
    return sorted(repr(sorted(row.items())) for row in found.to_pylist())


def delta(spark: SparkSession, path: Path) -> Any:
    return lakebed.DeltaTable.forPath(spark, str(path))


def operations(path: Path) -> list[str]:
    return [each["commitInfo"]["operation"] for each in actions_of(path) if "commitInfo" in each]


def check(spark: SparkSession, path: Path, version: int, expected: pa.Table) -> None:
    assert problems(path, version) == []
    assert rows(read_elsewhere(path)) == rows(expected)
    assert rows(spark.read.format("delta").load(str(path)).toArrow()) == rows(expected)
    if FORMATS in configuration_of(path):
        assert rows(StaticTable.from_metadata(str(path)).scan().to_arrow()) == rows(expected)


# --- the upgrade --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "data", "local"),
    [(1, FLAT, "1g"), (2, NESTED, "1g"), (2, NESTED, "0")],
    ids=["v1 on arrow", "v2 on arrow", "v2 on spark"],
)
def test_the_upgrade_writes_the_files_anew_and_tells_readers_of_iceberg(
    spark: SparkSession, tmp_path: Path, version: int, data: pa.Table, local: str
) -> None:
    path = tmp_path / "t"
    lakebed.write(path, data, partition_by=["p"])
    lakebed.write(path, data)
    spark.conf.set(LOCAL, local)
    try:
        found = delta(spark, path).optimize().executeUpgradeUniform(version).head()
    finally:
        spark.conf.unset(LOCAL)
    assert found is not None
    assert found["metrics"]["numFilesRemoved"] == 6
    assert operations(path)[2:] == ["REORG TABLE UPGRADE UNIFORM", "REORG", "SET TBLPROPERTIES"]
    configuration = configuration_of(path)
    assert configuration[f"delta.enableIcebergCompatV{version}"] == "true"
    assert configuration[FORMATS] == "iceberg"
    check(spark, path, version, pa.concat_tables([data, data]))
    again = delta(spark, path).optimize().executeUpgradeUniform(version).head()
    assert again is not None
    assert again["metrics"]["numFilesRemoved"] == 0
    assert len(operations(path)) == 5


def test_rows_behind_deletion_vectors_do_not_come_back(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    properties = {"delta.enableDeletionVectors": "true", "delta.enableRowTracking": "true"}
    lakebed.write(path, FLAT, properties=properties)
    delta(spark, path).delete("id = 2")
    assert "deletionVector" in next(iter(live_adds(path).values()))
    spark.sql(f"REORG TABLE delta.`{path}` APPLY (UPGRADE UNIFORM (ICEBERG_COMPAT_VERSION = 2))")
    assert configuration_of(path)["delta.enableDeletionVectors"] == "false"
    check(spark, path, 2, FLAT.filter(pa.array([True, False, True, True])))
    [info] = [
        each["commitInfo"]
        for each in actions_of(path)
        if each.get("commitInfo", {}).get("operation") == "REORG"
    ]
    assert info["tags"] == {"delta.rowTracking.preserved": "true"}


def test_version_1_becomes_version_2_and_back(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    v1 = {"delta.enableIcebergCompatV1": "true", FORMATS: "iceberg"}
    lakebed.write(path, FLAT, properties=v1)
    delta(spark, path).optimize().executeUpgradeUniform(2)
    assert configuration_of(path)["delta.enableIcebergCompatV1"] == "false"
    check(spark, path, 2, FLAT)
    delta(spark, path).optimize().executeUpgradeUniform(1)
    assert configuration_of(path)["delta.enableIcebergCompatV2"] == "false"
    turned_on = "REORG TABLE UPGRADE UNIFORM"
    assert operations(path) == ["WRITE", turned_on, "REORG", turned_on]
    check(spark, path, 1, FLAT)


def test_a_version_between_the_steps_is_not_restored_with_its_vectors(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    lakebed.write(path, FLAT, properties={"delta.enableDeletionVectors": "true"})
    delta(spark, path).delete("id = 2")
    delta(spark, path).optimize().executeUpgradeUniform(2)
    with pytest.raises(InvalidCommitError, match="deletion vector"):
        lakebed.open(path).restore(2)
    lakebed.open(path).restore(1)
    assert FORMATS not in configuration_of(path)
    assert lakebed.open(path).to_arrow()["id"].to_pylist() == [1, 3, 4]


@pytest.mark.parametrize("version", [0, 3, True, "2", None])
def test_other_versions_are_no_versions(spark: SparkSession, tmp_path: Path, version: Any) -> None:
    lakebed.write(tmp_path / "t", pa.table({"id": [1]}))
    with pytest.raises(InvalidArgumentError, match="there are 1 and 2"):
        delta(spark, tmp_path / "t").optimize().executeUpgradeUniform(version)


def test_a_table_that_cannot_be_upgraded_stays_as_it_is(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    lakebed.write(path, NESTED, properties={"delta.enableDeletionVectors": "true"})
    lakebed.write(tmp_path / "u", NESTED)
    table, without = delta(spark, path), delta(spark, tmp_path / "u")
    with pytest.raises(SchemaError, match="array"):
        without.optimize().executeUpgradeUniform(1)
    with pytest.raises(TablePropertyError, match="deletionVectors"):
        table.optimize().executeUpgradeUniform(1)
    with pytest.raises(InvalidArgumentError, match="no WHERE"):
        table.optimize().where("id = 1").executeUpgradeUniform(2)
    assert len(operations(path)) == len(operations(tmp_path / "u")) == 1


# --- stopped, and beside others -----------------------------------------------------------------


class _StoppedError(Exception):
    pass


@pytest.mark.parametrize("step", [1, 2, 3])
def test_a_run_that_stops_before_a_commit_is_finished_by_the_next(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    from lakebed.transaction import transaction

    path = tmp_path / "t"
    lakebed.write(path, NESTED, partition_by=["p"])
    lakebed.write(path, NESTED)
    original, calls = transaction.commit, []

    def commit(*arguments: Any) -> Any:
        calls.append(1)
        if len(calls) == step:
            raise _StoppedError
        return original(*arguments)

    monkeypatch.setattr(transaction, "commit", commit)
    with pytest.raises(_StoppedError):
        delta(spark, path).optimize().executeUpgradeUniform(2)
    both = pa.concat_tables([NESTED, NESTED])
    assert FORMATS not in configuration_of(path)
    assert rows(read_elsewhere(path)) == rows(both)
    monkeypatch.undo()
    lakebed.write(path, NESTED)
    delta(spark, path).optimize().executeUpgradeUniform(2)
    assert configuration_of(path)[FORMATS] == "iceberg"
    check(spark, path, 2, pa.concat_tables([both, NESTED]))


def test_rows_that_come_and_go_between_the_steps_are_not_lost(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lakebed.commands.optimize import optimize, upgrade_uniform

    path = tmp_path / "t"
    lakebed.write(path, FLAT)
    prepared = lakebed.open(path)
    turned_on, promised = upgrade_uniform._turn_on, upgrade_uniform._promise
    commit, done = optimize._Optimize._commit, []

    def turn_on(*arguments: Any) -> None:
        lakebed.write(path, FLAT)
        turned_on(*arguments)

    def commit_later(*arguments: Any) -> None:
        if not done:
            done.append(1)
            delta(spark, path).delete("id = 1")
            lakebed.write(path, FLAT)
        commit(*arguments)

    monkeypatch.setattr(upgrade_uniform, "_turn_on", turn_on)
    monkeypatch.setattr(optimize._Optimize, "_commit", commit_later)
    delta(spark, path).optimize().executeUpgradeUniform(2)
    assert prepared.version == 0
    assert promised is upgrade_uniform._promise
    kept = FLAT.filter(pa.array([False, True, True, True]))
    check(spark, path, 2, pa.concat_tables([kept, kept, FLAT]))


# --- writes afterwards --------------------------------------------------------------------------


@pytest.mark.parametrize("data", [FLAT, NESTED], ids=["flat", "nested"])
def test_every_change_of_rows_leaves_files_that_fit(
    spark: SparkSession, tmp_path: Path, data: pa.Table
) -> None:
    path = tmp_path / "t"
    frame = spark.createDataFrame(data).repartition(2)
    properties = {"delta.enableIcebergCompatV2": "true", "delta.enableChangeDataFeed": "true"}
    writer = frame.write.format("delta").partitionBy("p").option(FORMATS, "iceberg")
    writer.options(**properties).save(str(path))
    check(spark, path, 2, data)
    table = delta(spark, path)
    table.delete("id = 2")
    table.update("id = 3", {"id": "30"})
    source = frame.where("id in (1, 2)").alias("s")
    merge = table.alias("t").merge(source, "s.id = t.id")
    merge.whenMatchedUpdate(set={"id": "s.id + 100"}).whenNotMatchedInsertAll().execute()
    assert problems(path, 2) == []
    frame.write.format("delta").mode("append").save(str(path))
    table.optimize().executeCompaction()
    changed = data.set_column(0, "id", pa.array([101, 2, 30, 4]))
    check(spark, path, 2, pa.concat_tables([changed, data]))
    assert all("deletionVector" not in add for add in live_adds(path).values())


def test_values_of_partitions_in_the_log_win_over_those_in_the_files(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    properties = {"delta.enableIcebergCompatV2": "true"}
    lakebed.write(path, FLAT.slice(0, 1), partition_by=["p"], properties=properties)
    [add] = live_adds(path).values()
    shutil.copy(path / add["path"], path / "other.parquet")
    values = dict.fromkeys(add["partitionValues"], "z")
    add.pop("lakebedEnd", None)
    other = {"add": {**add, "path": "other.parquet", "partitionValues": values}}
    (path / "_delta_log" / f"{1:020d}.json").write_text(json.dumps(other) + "\n")
    frame = spark.read.format("delta").load(str(path))
    assert sorted(row.p for row in frame.collect()) == ["a", "z"]
    assert [row.id for row in frame.where("p = 'z'").collect()] == [1]
    spark.conf.set(PLANE, "workers")
    try:
        frame = spark.read.format("delta").load(str(path))
        assert sorted(row.p for row in frame.collect()) == ["a", "z"]
    finally:
        spark.conf.unset(PLANE)
    assert sorted(lakebed.open(path).to_arrow()["p"].to_pylist()) == ["a", "z"]
    delta(spark, path).optimize().executeCompaction()
    delta(spark, path).optimize().executeUpgradeUniform(1)
    assert sorted(read_elsewhere(path)["p"].to_pylist()) == ["a", "z"]


def test_identity_columns_and_nested_ids_go_together(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    spark.sql(
        f"CREATE TABLE delta.`{path}` (k BIGINT GENERATED ALWAYS AS IDENTITY, l ARRAY<INT>) "
        "USING delta TBLPROPERTIES ('delta.enableIcebergCompatV2' = 'true')"
    )
    spark.sql(f"INSERT INTO delta.`{path}` (l) SELECT array(id) FROM range(20)")
    spark.sql(f"INSERT INTO delta.`{path}` (l) VALUES (array(1))")
    found = read_elsewhere(path)
    assert problems(path, 2) == []
    assert found.num_rows == len(set(found["k"].to_pylist())) == 21


def test_empty_partition_values_are_null_in_the_files_too(
    spark: SparkSession, tmp_path: Path
) -> None:
    frame = spark.range(3).selectExpr("id", "if(id = 0, '', string(id)) p", "binary('') b")
    properties = {"delta.enableIcebergCompatV2": "true", FORMATS: "iceberg"}
    writer = frame.repartition(1).write.format("delta").partitionBy("p", "b")
    writer.options(**properties).save(str(tmp_path))
    found = StaticTable.from_metadata(str(tmp_path)).scan().to_arrow().to_pylist()
    assert sorted(row["id"] for row in found if row["p"] is None) == [0]
    assert {row["b"] for row in found} == {None}
    assert problems(tmp_path, 2) == []
