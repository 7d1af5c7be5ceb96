"""VACUUM through `lakebed.DeltaTable`: delta-spark's argument, settings and result."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import lakebed
from lakebed import DeltaTable
from lakebed.errors import InvalidArgumentError
from testkit.tables.spark_tables import settings

CHECK = "spark.databricks.delta.retentionDurationCheck.enabled"
LOGGING = "spark.databricks.delta.vacuum.logging.enabled"
LITE = "spark.databricks.delta.vacuum.lite.enabled"


@pytest.fixture
def path(spark: SparkSession, tmp_path: Path) -> Path:
    """Two versions; the files of the first belong to no other."""
    for start in (0, 10):
        rows = spark.range(start, start + 2).coalesce(1).write.format("delta")
        rows.mode("overwrite").save(str(tmp_path / "t"))
    return tmp_path / "t"


def parquet(path: Path) -> set[str]:
    return {str(file) for file in path.rglob("*.parquet")}


def ids(spark: SparkSession, path: Path, **options: object) -> set[int]:
    reader = spark.read.format("delta").options(**options)
    return {row.id for row in reader.load(str(path)).collect()}


def test_vacuum_by_delta_sparks_argument_and_settings(spark: SparkSession, path: Path) -> None:
    table, files = DeltaTable.forPath(spark, str(path)), parquet(path)
    old = {str(path / name) for name in lakebed.open(path, version=0).files()["path"].to_pylist()}
    assert table.vacuum().collect() == []
    with pytest.raises(InvalidArgumentError, match="168 hours"):
        table.vacuum(0)
    assert parquet(path) == files
    with settings(spark, {CHECK: "false"}):
        shown = table.vacuum(0, dryRun=True)
        assert shown.columns == ["path"]
        assert {row.path.removeprefix("file://") for row in shown.collect()} == old
        assert parquet(path) == files
        done = table.vacuum(0.0)
        assert (done.columns, done.collect()) == (["path"], [])
    assert parquet(path) == files - old
    assert ids(spark, path) == {10, 11}
    end, start = table.history(2).collect()
    assert (start.operation, end.operation) == ("VACUUM START", "VACUUM END")
    assert start.operationParameters["retentionCheckEnabled"] == "false"
    assert end.operationMetrics["numDeletedFiles"] == "1"
    assert "readable" not in table.history().columns
    assert [row.readable for row in table.history(readable=True).collect()][-2:] == [True, False]


def test_pins_forecasts_inventories_and_the_other_settings(spark: SparkSession, path: Path) -> None:
    table = DeltaTable.forPath(spark, str(path))
    forecast = table.vacuumForecast(0)
    assert forecast.dry_run
    assert forecast.lost_versions.column("version").to_pylist() == [0]
    table.pin("first", 0)
    assert table.pins() == {"first": 0}
    assert table.vacuumForecast(0).num_files == 0
    table.unpin("first")
    before = table.history(1).collect()[0].version
    orphan = path / "orphan.parquet"
    orphan.write_bytes(b"x")
    os.utime(orphan, (1, 1))
    with settings(spark, {CHECK: "false", LOGGING: "false", LITE: "true"}):
        table.vacuum(0)
        assert orphan.exists()
        columns = "path STRING, length LONG, isDir BOOLEAN, modificationTime LONG"
        files = spark.createDataFrame([(f"file:{orphan}", 1, False, 1)], columns)
        table.vacuum(inventory=files)
    assert not orphan.exists()
    assert table.history(1).collect()[0].version == before
    assert ids(spark, path) == {10, 11}
