"""Which sessions read Delta tables, and what `spark.read` takes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import lakebed
from lakebed.errors import InvalidArgumentError


def test_sessions_are_enabled_one_by_one_and_can_be_started_again(tmp_path: Path) -> None:
    script = Path(__file__).with_name("restarting_application.py")
    ran = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "table")],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert "all right" in ran.stdout, ran.stderr[-3000:]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    lakebed.write(tmp_path / "t", pa.table({"n": [1]}))
    return tmp_path / "t"


def test_every_way_to_name_format_and_path_reads_the_table(spark: SparkSession, path: Path) -> None:
    read = spark.read
    assert read.format("delta").load(str(path)).count() == 1
    assert spark.read.load(str(path), format="DELTA").count() == 1
    assert spark.read.format("delta").option("path", str(path)).load().count() == 1
    assert spark.read.format("delta").load(path.as_uri()).count() == 1
    assert spark.read.format("delta").load(f"{path}/").count() == 1
    spark.conf.set("spark.sql.sources.default", "delta")
    try:
        assert spark.read.load(str(path)).count() == 1
    finally:
        spark.conf.unset("spark.sql.sources.default")


def test_other_formats_are_read_as_ever(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    reader = spark.read.option("header", True).schema("a INT, b INT").format("csv")
    assert reader.load(str(tmp_path / "x.csv")).collect() == [(1, 2)]
    assert spark.read.csv(str(tmp_path / "x.csv"), header=True).columns == ["a", "b"]


def test_what_cannot_be_read_is_refused_with_a_reason(spark: SparkSession, path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="has a schema"):
        spark.read.schema("n LONG").format("delta").load(str(path))
    with pytest.raises(InvalidArgumentError, match="is not the path of a table"):
        spark.read.format("delta").load([str(path), str(path)])
    with pytest.raises(InvalidArgumentError, match="is not the path of a table"):
        spark.read.format("delta").load()
