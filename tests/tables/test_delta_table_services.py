"""RESTORE, CLONE, CONVERT, manifests, detail and health through `DeltaTable`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DateType, IntegerType, StructField, StructType

import lakebed
from lakebed import DeltaTable
from lakebed.commands.health.finding import Finding
from lakebed.errors import DataFileError, InvalidArgumentError, TableExistsError
from lakebed.spec.features import is_supported


@pytest.fixture
def path(spark: SparkSession, tmp_path: Path) -> Path:
    """Version 0 has the ids 0 to 4, version 1 none, version 2 the ids 5 to 7 and a vector."""
    folder = tmp_path / "table"
    options = {"delta.enableDeletionVectors": "true"}
    frame = spark.range(5).coalesce(1)
    frame.write.format("delta").options(**options).save(str(folder))
    DeltaTable.forPath(spark, str(folder)).delete()
    spark.range(5, 9).coalesce(1).write.format("delta").mode("append").save(str(folder))
    DeltaTable.forPath(spark, str(folder)).delete("id = 8")
    return folder


def ids(table: DeltaTable | DataFrame) -> list[int]:
    frame = table.toDF() if isinstance(table, DeltaTable) else table
    return sorted(row.id for row in frame.collect())


def test_versions_and_times_are_restored(spark: SparkSession, path: Path) -> None:
    table = DeltaTable.forPath(spark, str(path))
    done = table.restoreToVersion(0)
    assert done.columns == [
        "table_size_after_restore",
        "num_of_files_after_restore",
        "num_removed_files",
        "num_restored_files",
        "removed_files_size",
        "restored_files_size",
    ]
    assert {kind for _, kind in done.dtypes} == {"bigint"}
    row = done.head()
    assert row is not None
    assert (row.num_of_files_after_restore, row.num_removed_files, row.num_restored_files) == (
        1,
        1,
        1,
    )
    assert ids(table) == list(range(5))
    moment = lakebed.open(path, version=3).timestamp.strftime("%Y-%m-%d %H:%M:%S.%f")
    table.restoreToTimestamp(moment)
    assert ids(table) == [5, 6, 7]
    assert table.history(1).head()["operationParameters"]["timestamp"] == moment
    for wrong in (99, "0", True):
        with pytest.raises(lakebed.LakebedError):
            table.restoreToVersion(wrong)  # type: ignore[arg-type]


def test_missing_files_are_named_unless_spark_ignores_them(spark: SparkSession, path: Path) -> None:
    table = DeltaTable.forPath(spark, str(path))
    gone = lakebed.open(path, version=0).files()["path"].to_pylist()[0]
    (path / gone).unlink()
    with pytest.raises(DataFileError, match=gone):
        table.restoreToVersion(0)
    spark.conf.set("spark.sql.files.ignoreMissingFiles", "true")
    try:
        assert table.restoreToVersion(0).head()["num_restored_files"] == 1
        assert ids(table) == []
    finally:
        spark.conf.unset("spark.sql.files.ignoreMissingFiles")


@pytest.mark.parametrize("shallow", [False, True])
def test_clones_are_read_and_written_by_spark(
    spark: SparkSession, path: Path, tmp_path: Path, shallow: bool
) -> None:
    table = DeltaTable.forPath(spark, str(path))
    clone = table.clone(str(tmp_path / "a clone"), shallow, properties={"mine": "1"})
    assert ids(clone) == [5, 6, 7]
    clone.delete("id = 5")
    clone.update("id = 6", {"id": "60"})
    assert ids(clone) == [7, 60]
    assert ids(table) == [5, 6, 7]
    assert clone.detail().head()["properties"]["mine"] == "1"
    with pytest.raises(TableExistsError):
        table.clone(str(tmp_path / "a clone"), shallow)
    assert ids(table.cloneAtVersion(0, str(tmp_path / "a clone"), shallow, True)) == list(range(5))
    moment = lakebed.open(path, version=1).timestamp.strftime("%Y-%m-%d %H:%M:%S.%f")
    empty = table.cloneAtTimestamp(moment, str(tmp_path / "empty"), shallow)
    assert ids(empty) == []


@pytest.mark.parametrize("schema", ["day DATE, n INT", "struct"])
def test_folders_that_spark_wrote_are_converted(
    spark: SparkSession, tmp_path: Path, schema: str
) -> None:
    folder = str(tmp_path / "folder")
    rows = "SELECT id, IF(id = 2, NULL, DATE'2026-01-31') AS day, CAST(id AS INT) % 2 AS n"
    before = spark.sql(f"{rows}, TIMESTAMP'2026-01-31 12:00:00' AS t, 'x' AS s FROM range(4)")
    before.coalesce(1).write.partitionBy("day", "n").parquet(folder)
    expected = sorted(map(str, before.select("id", "t", "s", "day", "n").collect()))
    given: Any = schema
    if schema == "struct":
        given = StructType([StructField("day", DateType()), StructField("n", IntegerType())])
    spark.conf.set("spark.databricks.delta.properties.defaults.enableDeletionVectors", "true")
    try:
        table = DeltaTable.convertToDelta(spark, f"parquet.`{folder}`", given)
    finally:
        spark.conf.unset("spark.databricks.delta.properties.defaults.enableDeletionVectors")
    assert sorted(map(str, table.toDF().collect())) == expected
    assert is_supported(lakebed.open(folder).protocol, "deletionVectors")
    assert lakebed.open(folder).scan(where="id > 2").num_files == 1
    assert DeltaTable.convertToDelta(spark, f"parquet.`{folder}`").history().count() == 1


@pytest.mark.parametrize("name", ["/data/x", "orc.`/data/x`", "parquet./x", "", 3])
def test_only_folders_of_parquet_are_converted(spark: SparkSession, name: Any) -> None:
    with pytest.raises(InvalidArgumentError):
        DeltaTable.convertToDelta(spark, name)


def test_detail_has_the_columns_and_types_of_delta_spark(spark: SparkSession, path: Path) -> None:
    detail = DeltaTable.forPath(spark, str(path)).detail()
    assert dict(detail.dtypes) == {
        "format": "string",
        "id": "string",
        "name": "string",
        "description": "string",
        "location": "string",
        "createdAt": "timestamp",
        "lastModified": "timestamp",
        "partitionColumns": "array<string>",
        "clusteringColumns": "array<string>",
        "numFiles": "bigint",
        "sizeInBytes": "bigint",
        "properties": "map<string,string>",
        "minReaderVersion": "int",
        "minWriterVersion": "int",
        "tableFeatures": "array<string>",
    }
    row = detail.head()
    assert row is not None
    assert (row.format, row.numFiles, row.location) == ("delta", 1, path.as_uri())
    assert "deletionVectors" in row.tableFeatures


def test_manifests_and_health(spark: SparkSession, path: Path) -> None:
    table = DeltaTable.forPath(spark, str(path))
    with pytest.raises(lakebed.LakebedError, match="deletion vectors"):
        table.generate("symlink_format_manifest")
    table.restoreToVersion(0)
    table.generate("symlink_format_manifest")
    lines = (path / "_symlink_format_manifest" / "manifest").read_text().split()
    assert ids(spark.read.parquet(*lines)) == list(range(5))
    found = table.health(["id"], orphans=True)
    assert found["statistics"].severity.value == "ok"


def test_what_health_says_mends_what_it_found(spark: SparkSession, tmp_path: Path) -> None:
    """Its commands are run as they stand."""
    path = str(tmp_path / "worn")
    columns = {f"c{n}": [n] * 3 for n in range(40)}
    properties = {"delta.enableDeletionVectors": "true", "delta.checkpointInterval": "100"}
    for number in range(12):
        rows = pa.table({"id": range(3 * number, 3 * number + 3), **columns})
        lakebed.write(path, rows, properties={} if number else properties)
    DeltaTable.forPath(spark, path).delete("id % 3 = 0")
    lakebed.open(path).unset_properties("delta.checkpointInterval")
    worn = lakebed.open(path).health(["c39"])
    topics = {"small files", "statistics", "dead rows", "checkpoint"}
    assert {finding.topic for finding in worn if finding.mend} == topics
    for finding in worn:
        mend(finding, spark, path)
    assert lakebed.open(path).health(["c39"]).severity.value == "ok"
    assert ids(DeltaTable.forPath(spark, path)) == [n for n in range(36) if n % 3]

    path = str(tmp_path / "cut")
    lakebed.write(path, pa.table({"id": range(120), "p": range(120)}), partition_by="p")
    mend(lakebed.open(path).health()["partitions"], spark, path)
    mended = lakebed.open(path)
    assert (mended.partition_columns, mended.clustering_columns) == ((), ("p",))
    assert mended.health().severity.value == "ok"
    assert ids(DeltaTable.forPath(spark, path)) == list(range(120))


def mend(finding: Finding, spark: SparkSession, path: str) -> None:
    for command in (finding.mend or "").split(", then "):
        if command:
            known = {"spark": spark, "path": path, "DeltaTable": DeltaTable}
            eval(command, known, {"table": lakebed.open(path)})
