"""What a query does with the files of a table, and its rows in a form that can be compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import lakebed
from lakebed.spark.internals.jvm import Jvm
from lakebed.spark.native.file_index import find_index
from lakebed.spark.native.file_listing import SelectedFiles


def load(spark: SparkSession, path: Path | str, **options: Any) -> DataFrame:
    return spark.read.format("delta").options(**options).load(str(path))


def chosen(frame: DataFrame) -> list[SelectedFiles]:
    """The files that each scan of the plan chooses, by the filters that Spark hands to it."""
    found = []
    for scan in Jvm.of(frame.sparkSession).scans(frame):
        index = find_index(scan.index_name)
        assert index is not None
        filters = (index.read_filters(each) for each in (scan.partition_filters, scan.data_filters))
        found.append(index.listing.select(*filters))
    return found


def num_files(frame: DataFrame) -> int:
    """How many files its one scan reads."""
    (only,) = chosen(frame)
    return only.num_files


def plan(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())


def pushed(frame: DataFrame) -> str:
    """The filters that reach the Parquet reader."""
    (only,) = Jvm.of(frame.sparkSession).scans(frame)
    return only.pushed_filters


def assert_native(frame: DataFrame, *, batched: bool = True) -> None:
    """Spark's own Parquet reader does the work, with batches of columns, and nothing in Python."""
    text = plan(frame)
    assert "FileScan parquet" in text
    assert f"Batched: {str(batched).lower()}" in text
    assert "Python" not in text.replace("PythonUDF", "")


def rows(frame: Any) -> list[str]:
    """The rows in an order of their own; NaN is equal to itself."""
    table = frame.toArrow() if isinstance(frame, DataFrame) else frame
    return sorted(repr(sorted(row.items())) for row in table.to_pylist())


def raw_files(spark: SparkSession, path: Path) -> DataFrame:
    """The same rows by plain Spark, for tables without partitions, vectors or renamed columns."""
    files = lakebed.open(path).files().column("path").to_pylist()
    return spark.read.parquet(*(str(path / file) for file in files))
