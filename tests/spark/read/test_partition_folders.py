"""Reads of a partition's folder inside of a table."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from lakebed.errors import InvalidArgumentError, TableNotFoundError


@pytest.fixture
def path(spark: SparkSession, tmp_path: Path) -> str:
    rows = spark.sql(
        "SELECT * FROM VALUES (1, 'a b', 1), (2, 'x/y', 1), (3, 'a b', 2), (4, NULL, 2) "
        "AS v(id, s, p)"
    )
    rows.write.format("delta").partitionBy("s", "p").save(str(tmp_path / "t"))
    return str(tmp_path / "t")


def ids(frame: DataFrame) -> list[int]:
    return sorted(row.id for row in frame.collect())


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("s=a b", [1, 3]),
        ("s=a b/p=2/", [3]),
        ("s=x%2Fy", [2]),
        ("s=__HIVE_DEFAULT_PARTITION__", [4]),
        ("s=nothing", []),
    ],
)
def test_a_folder_has_the_rows_of_its_partition(
    spark: SparkSession, path: str, folder: str, expected: list[int]
) -> None:
    frame = spark.read.format("delta").load(f"{path}/{folder}")
    assert frame.columns == ["id", "s", "p"]
    assert ids(frame) == expected


def test_a_folder_can_be_read_in_sql_and_follows_the_table(spark: SparkSession, path: str) -> None:
    frame = spark.sql(f"SELECT * FROM delta.`{path}/s=x%2Fy`")
    assert ids(frame) == [2]
    spark.sql(f"INSERT INTO delta.`{path}` VALUES (9, 'x/y', 5)")
    # Another query: Spark plans each DataFrame once.
    assert ids(frame.select("*")) == [2, 9]


def test_a_folder_of_no_partition_column_is_refused(spark: SparkSession, path: str) -> None:
    with pytest.raises(InvalidArgumentError, match="not partitioned by id"):
        spark.read.format("delta").load(f"{path}/id=1").collect()


def test_a_folder_outside_of_any_table_is_no_table(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(TableNotFoundError):
        spark.read.format("delta").load(str(tmp_path / "p=1")).collect()
