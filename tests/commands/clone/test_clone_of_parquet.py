"""CLONE of Parquet files, and CONVERT TO DELTA of tables that the catalog knows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import lakebed
from lakebed.errors import SqlError


@pytest.fixture
def names(spark: SparkSession) -> Iterator[SparkSession]:
    yield spark
    for name in ("cloned", "plain_files", "files_in_parts"):
        spark.sql(f"DROP TABLE IF EXISTS {name}")


@pytest.fixture
def folder(spark: SparkSession, tmp_path: Path) -> Path:
    rows = spark.sql("SELECT id, CAST(id % 2 AS INT) AS p FROM range(6)")
    rows.write.partitionBy("p").parquet(str(tmp_path / "files"))
    return tmp_path / "files"


def location(spark: SparkSession, name: str) -> str:
    [detail] = spark.sql(f"DESCRIBE DETAIL {name}").collect()
    return str(detail.location)


@pytest.mark.parametrize("kind", ["SHALLOW CLONE", "CLONE"])
def test_a_folder_of_parquet_files_can_be_cloned(
    names: SparkSession, folder: Path, kind: str
) -> None:
    names.sql(f"CREATE TABLE cloned {kind} parquet.`{folder}`")
    names.sql("DELETE FROM cloned WHERE id = 1")
    found = lakebed.open(location(names, "cloned")).to_arrow()
    assert sorted(zip(*found.to_pydict().values(), strict=True)) == [
        (0, 0), (2, 0), (3, 1), (4, 0), (5, 1),
    ]  # fmt: skip
    assert names.read.parquet(str(folder)).count() == 6


def test_a_table_of_parquet_files_can_be_cloned(names: SparkSession) -> None:
    names.sql("CREATE TABLE plain_files USING parquet AS SELECT id FROM range(3)")
    names.sql("CREATE TABLE cloned SHALLOW CLONE plain_files")
    assert names.table("cloned").count() == 3


def test_parquet_files_have_no_versions(names: SparkSession, folder: Path) -> None:
    with pytest.raises(SqlError, match="no versions"):
        names.sql(f"CREATE TABLE cloned SHALLOW CLONE parquet.`{folder}` VERSION AS OF 1")


def test_the_catalog_knows_the_partition_columns_of_a_table_to_convert(names: SparkSession) -> None:
    names.sql("CREATE TABLE files_in_parts (id BIGINT, p INT) USING parquet PARTITIONED BY (p)")
    names.sql("INSERT INTO files_in_parts VALUES (1, 1), (2, 2)")
    names.sql("CONVERT TO DELTA files_in_parts")
    table = lakebed.open(location(names, "files_in_parts"))
    assert sorted(zip(*table.to_arrow().to_pydict().values(), strict=True)) == [(1, 1), (2, 2)]
    assert table.history().to_pylist()[0]["isBlindAppend"] is False
