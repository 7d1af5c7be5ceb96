"""Older versions, by number or time, by option or in the path; and DataFrames that stay."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import lakebed
from lakebed.errors import InvalidArgumentError, VersionNotFoundError
from testkit.readers.scan_facts import load

DAY = 86_400
NOON = 1_767_268_800  # 2026-01-01 12:00:00 UTC


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Version n, of day n + 1 of 2026 at noon, has n + 1 rows."""
    table = tmp_path / "table"
    for version in range(3):
        lakebed.write(table, pa.table({"n": [version]}))
        commit = table / "_delta_log" / f"{version:020d}.json"
        os.utime(commit, (NOON + version * DAY,) * 2)
    return table


@pytest.mark.parametrize(
    ("options", "rows"),
    [
        ({}, 3),
        ({"versionAsOf": 0}, 1),
        ({"versionAsOf": "1"}, 2),
        ({"VERSIONASOF": 1}, 2),
        ({"timestampAsOf": "2026-01-02 12:00:00"}, 2),
        ({"timestampAsOf": "2026-01-02"}, 1),
        ({"timestampAsOf": "2026-01-02T21:00:00+09:00"}, 2),
        ({"timestampasof": "2026-01-03 12:00:00.000"}, 3),
    ],
)
def test_options_choose_a_version(
    spark: SparkSession, path: Path, options: dict[str, Any], rows: int
) -> None:
    assert load(spark, path, **options).count() == rows


@pytest.mark.parametrize(
    ("suffix", "rows"),
    [("@v0", 1), ("@V2", 3), ("@20260102120000000", 2), ("@20260102115959999", 1)],
)
def test_the_path_chooses_a_version(
    spark: SparkSession, path: Path, suffix: str, rows: int
) -> None:
    assert load(spark, f"{path}{suffix}").count() == rows


def test_times_are_of_the_zone_of_the_session(spark: SparkSession, path: Path) -> None:
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        assert load(spark, path, timestampAsOf="2026-01-02 21:00:00").count() == 2
        assert load(spark, path, timestampAsOf="2026-01-02 20:59:59").count() == 1
        assert load(spark, f"{path}@20260102210000000").count() == 2
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_a_table_whose_name_has_an_at_sign_is_itself(spark: SparkSession, tmp_path: Path) -> None:
    lakebed.write(tmp_path / "t@v1", pa.table({"n": [1]}))
    assert load(spark, tmp_path / "t@v1").count() == 1
    assert load(spark, f"{tmp_path}/t@v1@v0").count() == 1


@pytest.mark.parametrize(
    ("options", "suffix", "kind", "message"),
    [
        ({"versionAsOf": 9}, "", VersionNotFoundError, "9"),
        ({}, "@v9", VersionNotFoundError, "9"),
        ({"timestampAsOf": "2020-01-01"}, "", VersionNotFoundError, "2020"),
        ({"timestampAsOf": "2030-01-01"}, "", VersionNotFoundError, "2030"),
        (
            {"timestampAsOf": "soon"},
            "",
            InvalidArgumentError,
            "'soon'. cannot be converted to a valid timestamp",
        ),
        ({"versionAsOf": "new"}, "", InvalidArgumentError, "versionAsOf is 'new'"),
        ({"versionAsOf": 1, "timestampAsOf": "2026-01-02"}, "", InvalidArgumentError, "not both"),
        ({"versionAsOf": 1}, "@v1", InvalidArgumentError, "an option names one too"),
        ({}, "@20261399000000000", InvalidArgumentError, "cannot be converted to a valid"),
    ],
)
def test_what_is_no_version_of_the_table_is_refused(
    spark: SparkSession,
    path: Path,
    options: dict[str, Any],
    suffix: str,
    kind: type[Exception],
    message: str,
) -> None:
    with pytest.raises(kind, match=message):
        load(spark, f"{path}{suffix}", **options)


def test_a_dataframe_of_a_version_stays_there_and_a_new_read_sees_the_newest(
    spark: SparkSession, path: Path
) -> None:
    newest = lakebed.open(path).version
    before = load(spark, path, versionAsOf=newest)
    view = load(spark, path, versionAsOf=newest)
    view.createOrReplaceTempView("pinned")
    lakebed.write(path, pa.table({"n": [100]}), mode="overwrite")
    assert sorted(row.n for row in before.collect()) == [0, 1, 2]
    assert before.where("n >= 1").count() == 2
    assert spark.sql("SELECT max(n) m FROM pinned").collect()[0].m == 2
    assert [row.n for row in load(spark, path).collect()] == [100]


def test_a_dataframe_of_a_version_keeps_its_columns_when_the_table_changes_them(
    spark: SparkSession, path: Path
) -> None:
    before = load(spark, path, versionAsOf=lakebed.open(path).version)
    other = pa.table({"other": ["x"]})
    lakebed.write(path, other, mode="overwrite", overwrite_schema=True)
    assert before.columns == ["n"]
    assert before.count() == 3
    assert load(spark, path).columns == ["other"]
    assert load(spark, path, versionAsOf=2).columns == ["n"]


def test_two_versions_can_be_joined(spark: SparkSession, path: Path) -> None:
    old, new = load(spark, path, versionAsOf=1), load(spark, path)
    assert [row.n for row in new.join(old, "n", "left_anti").collect()] == [2]


def test_a_cached_version_is_not_taken_for_another(spark: SparkSession, path: Path) -> None:
    old = load(spark, path, versionAsOf=0).cache()
    try:
        assert old.count() == 1
        assert load(spark, path).count() == 3
        assert load(spark, path, versionAsOf=0).count() == 1
        assert "InMemoryTableScan" in plan_of(load(spark, path, versionAsOf=0))
        assert "InMemoryTableScan" not in plan_of(load(spark, path))
    finally:
        old.unpersist()


def plan_of(frame: Any) -> str:
    return str(frame._jdf.queryExecution().withCachedData().toString()) + str(
        frame._jdf.queryExecution().executedPlan().toString()
    )
