"""Every golden table gives through Spark the rows, or the refusal, that its catalogue expects."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import lakebed
from testkit.tables.golden_tables import GOLDEN, golden_entries, judge, name_of, needs_golden

MOST_FILES = 100_000
MOST_HASHED_ROWS = 10_000
EVERY = 6
"""Of the older versions every so manieth is read; the Arrow plane reads all of them."""

ENTRIES = [
    entry
    for entry in golden_entries()
    if (entry.get("snapshot") or {}).get("active_files", 0) <= MOST_FILES
]
SMALL = [each for each in ENTRIES if each["expected"].get("rows", 0) <= MOST_HASHED_ROWS]
LARGE = [each for each in ENTRIES if each not in SMALL]
OLDER = [(entry, int(version)) for entry in SMALL for version in entry.get("versions") or ()]
pytestmark = needs_golden


@pytest.fixture
def read_table(
    spark: SparkSession, tmp_path: Path
) -> Callable[[Path, int | None], Callable[[], pa.Table]]:
    def open_table(path: Path, version: int | None) -> Callable[[], pa.Table]:
        frame = spark.read.format("delta").option("versionAsOf", version).load(str(path))
        return lambda: to_arrow(frame, tmp_path / "rows")

    return open_table


def to_arrow(frame: DataFrame, scratch: Path) -> pa.Table:
    if "variant" not in frame.schema.simpleString():
        return frame.toArrow()
    # PySpark's own way to Arrow stumbles over nulls in arrays of variants.
    conf = frame.sparkSession.conf
    conf.set("spark.sql.variant.writeShredding.enabled", "false")
    try:
        frame.write.parquet(str(scratch))
    finally:
        conf.unset("spark.sql.variant.writeShredding.enabled")
    return pq.read_table(scratch)


@pytest.mark.parametrize("entry", SMALL, ids=name_of)
def test_spark_reads_or_refuses_the_newest_version(entry: dict[str, Any], read_table: Any) -> None:
    judge(entry, None, read_table)


@pytest.mark.parametrize(
    ("entry", "version"),
    OLDER[::EVERY],
    ids=[f"{name_of(entry)}@{version}" for entry, version in OLDER[::EVERY]],
)
def test_spark_reads_or_refuses_an_older_version(
    entry: dict[str, Any], version: int, read_table: Any
) -> None:
    judge(entry, version, read_table)


@pytest.mark.parametrize("entry", LARGE, ids=name_of)
def test_spark_reads_a_large_table_as_the_arrow_plane_does(
    entry: dict[str, Any], spark: SparkSession
) -> None:
    """The hash of a million rows takes a minute; the Arrow plane's rows have been hashed."""
    path = GOLDEN / entry["path"]
    ours = spark.read.format("delta").load(str(path)).toArrow()
    theirs = lakebed.open(path).to_arrow()
    assert ours.num_rows == entry["expected"]["rows"]
    assert in_order(ours, theirs.schema).equals(in_order(theirs, theirs.schema))


def in_order(table: pa.Table, schema: pa.Schema) -> pa.Table:
    return table.cast(schema).sort_by([(name, "ascending") for name in schema.names])
