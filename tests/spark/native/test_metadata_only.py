"""Counts, minimums and maximums that come from the log: always those that the rows give."""

from __future__ import annotations

import datetime as dt
import json
import logging
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.errors import ArithmeticException
from pyspark.sql import DataFrame, SparkSession

import lakebed
from lakebed.errors import DataFileError
from lakebed.spark.native.file_index import DeltaFileIndex
from lakebed.spark.native.vector_columns import HIDDEN
from lakebed.spec.actions import Add
from lakebed.spec.schema import DATE, INTEGER, LONG, DecimalType
from testkit.schemas import column
from testkit.tables.arbitrary_tables import add_file, commit, make_table
from testkit.tables.deleted_rows import delete

SETTING = "spark.lakebed.metadataOnly.enabled"
MONEY = pa.decimal128(12, 2)
DATA = pa.table(
    {
        "i": pa.array([3, None, -7, 5], pa.int32()),
        "big": pa.array([2**63 - 1, -(2**63), 2**53 + 1, None], pa.int64()),
        "d": pa.array([dt.date(2024, 2, 29), None, dt.date(1999, 12, 31), dt.date(9999, 1, 1)]),
        "m": pa.array([Decimal("1.05"), Decimal("-0.01"), None, Decimal("9999.99")], MONEY),
        "s": ["b", None, "a" * 100, "c"],
        "void": pa.array([None] * 4, pa.int32()),
        "p": ["x", "y", "y", None],
        "day": pa.array([dt.date(2024, 1, 1)] * 3 + [None]),
    }
)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two commits, five partitions or so, no deletions. Tests only read it."""
    path = tmp_path_factory.mktemp("tables") / "all types"
    for mode in ("error", "append"):
        lakebed.write(path, DATA, mode=mode, partition_by=["p", "day"])
    return str(path)


class Asked:
    """One query, with the log's answer allowed and not."""

    def __init__(
        self, spark: SparkSession, path: str | Path, *asks: str, where: str = "true", **options: Any
    ) -> None:
        def query() -> DataFrame:
            frame = spark.read.format("delta").options(**options).load(str(path))
            return frame.where(where).selectExpr(*asks)

        self.fast = query()
        self.rows, self.schema = self.fast.collect(), self.fast.schema
        self.is_answered = is_answered(self.fast)
        spark.conf.set(SETTING, "false")
        try:
            slow = query()
            self.expected_rows, self.expected_schema = slow.collect(), slow.schema
            assert not is_answered(slow)
        finally:
            spark.conf.unset(SETTING)

    def check(self, *, answered: bool) -> None:
        assert self.rows == self.expected_rows
        assert self.schema == self.expected_schema
        assert self.is_answered is answered


def is_answered(frame: DataFrame) -> bool:
    return "FileScan" not in frame._jdf.queryExecution().executedPlan().toString()


# --- what is answered ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "asks",
    [
        ["count(*)"],
        ["count(1) AS n", "count(i)", "count(s)", "count(void)"],
        ["min(i)", "max(i)", "min(big)", "max(big)"],
        ["min(d)", "max(d)", "min(m)", "max(m)"],
        ["min(void)", "max(void)"],
        ["count(p)", "min(p)", "max(p)", "min(day)", "max(day)"],
        ["max(i) - min(i) AS `a range`", "count(*) * 2", "cast(max(d) AS string)"],
    ],
    ids=lambda asks: asks[0],
)
def test_exact_statistics_answer_with_the_values_types_and_names_of_spark(
    spark: SparkSession, table: str, asks: list[str]
) -> None:
    Asked(spark, table, *asks).check(answered=True)


@pytest.mark.parametrize(
    "where",
    [
        "p = 'x'",
        "p IS NULL",
        "p = 'x' OR day IS NULL",
        "upper(p) LIKE '%Y' AND day > '2020-01-01'",
        "p IN ('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'x')",
        "p = 'none such'",
    ],
)
def test_filters_on_partitions_are_exact(spark: SparkSession, table: str, where: str) -> None:
    Asked(spark, table, "count(*)", "min(i)", "max(p)", where=where).check(answered=True)


def test_names_are_found_in_any_case(spark: SparkSession, table: str) -> None:
    Asked(spark, table, "max(P)", "min(I)", where="P = 'y'").check(answered=True)


def test_filters_that_need_the_rows_read_them(spark: SparkSession, table: str) -> None:
    for where in ("i > 0", "p = 'x' OR i = 5", "_metadata.file_size > 0"):
        Asked(spark, table, "count(*)", where=where).check(answered=False)


@pytest.mark.parametrize(
    "ask",
    ["min(s)", "sum(i)", "count(DISTINCT i)", "count(*) FILTER (WHERE i > 0)", "min(i + 1)"],
)
def test_what_the_log_does_not_have_exactly_is_read(
    spark: SparkSession, table: str, ask: str
) -> None:
    Asked(spark, table, "count(*)", ask).check(answered=False)


def test_groups_samples_and_limits_are_read(spark: SparkSession, table: str) -> None:
    frame = spark.read.format("delta").load(table)
    assert not is_answered(frame.groupBy("p").count())
    assert not is_answered(frame.limit(3).agg({"*": "count"}))
    assert not is_answered(frame.sample(0.5, seed=1).agg({"*": "count"}))
    assert not is_answered(frame.where("rand() < 0.5").agg({"*": "count"}))
    assert frame.limit(3).count() == 3


def test_an_empty_table_has_no_rows_and_no_values(spark: SparkSession, tmp_path: Path) -> None:
    lakebed.write(tmp_path / "t", DATA.slice(0, 0))
    Asked(spark, tmp_path / "t", "count(*)", "count(i)", "min(i)").check(answered=True)


def test_subqueries_unions_and_joins_are_answered_inside(spark: SparkSession, table: str) -> None:
    spark.read.format("delta").load(table).createOrReplaceTempView("asked")
    found = spark.sql(
        "SELECT id FROM range(20) WHERE id < (SELECT count(*) FROM asked) "
        "UNION ALL SELECT max(i) FROM asked"
    )
    assert is_answered(found)
    assert sorted(row[0] for row in found.collect()) == sorted([*range(8), 5])


def test_a_dataframe_counts_the_newest_version(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    lakebed.write(path, DATA)
    old = spark.read.format("delta").load(str(path))
    assert old.count() == 4
    lakebed.write(path, DATA, mode="append")
    assert old.count() == 8
    assert spark.read.format("delta").load(str(path)).count() == 8
    Asked(spark, path, "count(*)", versionAsOf=0).check(answered=True)


@pytest.mark.parametrize("mode", ["name", "id"])
def test_renamed_columns_are_found(spark: SparkSession, tmp_path: Path, mode: str) -> None:
    path = tmp_path / "t"
    properties = {"delta.columnMapping.mode": mode}
    lakebed.write(path, DATA, partition_by=["p"], properties=properties)
    asked = Asked(spark, path, "min(i)", "max(P) AS last", "count(*)", where="p IS NOT NULL")
    asked.check(answered=True)


def test_a_cached_table_is_counted_in_the_cache(spark: SparkSession, table: str) -> None:
    frame = spark.read.format("delta").load(table).cache()
    try:
        assert frame.count() == 8
        assert frame.storageLevel.useMemory
        assert "InMemoryTableScan" in _plan(frame.agg({"*": "count"}))
    finally:
        frame.unpersist()


def test_show_prints_what_it_prints_of_rows(
    spark: SparkSession, table: str, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = spark.read.format("delta").load(table).selectExpr("min(d)", "max(m)", "min(void)")
    frame.show()
    assert "|1999-12-31|9999.99|     NULL|" in capsys.readouterr().out


# --- no file is opened --------------------------------------------------------------------------


def test_lost_files_do_not_matter_until_rows_are_needed(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    lakebed.write(path, DATA)
    for file in path.glob("*.parquet"):
        file.unlink()
    frame = spark.read.format("delta").load(str(path))
    assert frame.selectExpr("count(*)", "min(i)", "max(d)").collect() == [
        (4, -7, dt.date(9999, 1, 1))
    ]
    with pytest.raises(DataFileError, match="gone"):
        frame.selectExpr("count(*)", "min(s)").collect()


# --- settings -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (SETTING, "false"),
        ("spark.databricks.delta.optimizeMetadataQuery.enabled", "false"),
        ("spark.sql.files.ignoreMissingFiles", "true"),
        ("spark.sql.files.ignoreCorruptFiles", "true"),
    ],
)
def test_settings_that_switch_it_off(
    spark: SparkSession, table: str, name: str, value: str
) -> None:
    frame = spark.read.format("delta").load(table)
    spark.conf.set(name, value)
    try:
        assert not is_answered(frame.agg({"*": "count"}))
    finally:
        spark.conf.unset(name)
    assert is_answered(frame.agg({"*": "count"}))


def test_an_option_to_overlook_lost_files_switches_it_off(spark: SparkSession, table: str) -> None:
    reader = spark.read.format("delta").option("ignoremissingfiles", "true")
    assert not is_answered(reader.load(table).agg({"*": "count"}))


# --- when in doubt ------------------------------------------------------------------------------


def test_counts_leave_out_deleted_rows_but_bounds_may_be_of_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    lakebed.write(path, DATA, properties={"delta.enableDeletionVectors": "true"})
    delete(path, [2])
    Asked(spark, path, "count(*)", "count(void)").check(answered=True)
    Asked(spark, path, "count(*)", "count(i)").check(answered=False)
    Asked(spark, path, "min(i)").check(answered=False)
    for where in ("_metadata.row_index < 1", "_metadata.row_index = 0", "_metadata.row_index = 2"):
        Asked(spark, path, "count(*)", where=where).check(answered=False)


def test_a_file_whose_rows_are_all_deleted_has_no_bounds(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    lakebed.write(path, DATA, properties={"delta.enableDeletionVectors": "true"})
    delete(path, [0, 1, 2, 3])
    lakebed.write(path, DATA.slice(0, 2), mode="append")
    Asked(spark, path, "count(*)", "min(i)", "max(i)", "count(i)").check(answered=True)


@pytest.mark.parametrize(
    ("stats", "asks"),
    [
        (None, "count(*)"),
        ({}, "count(*)"),
        ({"numRecords": 2}, "min(i)"),
        ({"numRecords": 2}, "count(i)"),
        (
            {"numRecords": 2, "minValues": {"i": 1}, "maxValues": {"i": 2}, "nullCount": {}},
            "count(i)",
        ),
        (
            {
                "numRecords": 2,
                "minValues": {"i": 0},
                "maxValues": {"i": 2},
                "nullCount": {"i": 0},
                "tightBounds": False,
            },
            "min(i)",
        ),
        ({"numRecords": 2, "minValues": {"i": 1}, "nullCount": {"i": 0}}, "min(i)"),
        ({"numRecords": 2, "minValues": {"m": 12345678901234567.89}}, "min(m)"),
        (
            {"numRecords": 2, "minValues": {"d": "1500-01-01"}, "maxValues": {"d": "2000-01-01"}},
            "min(d)",
        ),
    ],
    ids=str,
)
def test_missing_or_inexact_statistics_are_no_answer(
    spark: SparkSession, tmp_path: Path, stats: dict[str, Any] | None, asks: str
) -> None:
    path = tmp_path / "t"
    fields = [("i", LONG), ("m", DecimalType(38, 2)), ("d", DATE)]
    make_table(path, *(column(name, kind) for name, kind in fields))
    data = pa.table(
        {
            "i": [1, 2],
            "m": pa.array([Decimal("12345678901234567.88"), None], pa.decimal128(38, 2)),
            "d": [dt.date(1990, 1, 1), dt.date(2000, 1, 1)],
        }
    )
    pq.write_table(data, path / "f.parquet")
    size = (path / "f.parquet").stat().st_size
    text = None if stats is None else json.dumps(stats)
    commit(path, Add("f.parquet", {}, size, modification_time=1, data_change=True, stats=text))
    Asked(spark, path, asks).check(answered=False)


def test_a_column_that_older_files_lack_is_no_answer(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    make_table(path, column("a", INTEGER), column("b", INTEGER))
    add_file(path, pa.table({"a": pa.array([1], pa.int32())}))
    Asked(spark, path, "count(b)", "max(b)").check(answered=False)


def test_an_error_in_a_filter_is_the_error_of_the_query(
    spark: SparkSession, table: str, caplog: pytest.LogCaptureFixture
) -> None:
    frame = spark.read.format("delta").load(table).where("1 / (length(p) - 1) > 0")
    with caplog.at_level(logging.WARNING, "lakebed"), pytest.raises(ArithmeticException):
        frame.count()
    assert "computed from its files" in caplog.text


def test_a_failure_leaves_the_query_alone_and_is_logged(
    spark: SparkSession,
    table: str,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("broken on purpose")

    monkeypatch.setattr(DeltaFileIndex, "_aggregates", fail)
    with caplog.at_level(logging.WARNING, "lakebed"):
        assert spark.read.format("delta").load(table).count() == 8
    assert "broken on purpose" in caplog.text


def test_the_rule_knows_the_name_of_the_hidden_column() -> None:
    room = Path(lakebed.spark.__file__).parent
    source = room / "java" / "all_versions" / "lakebed" / "scans" / "MetadataOnly.java"
    assert f'HIDDEN = "{HIDDEN}"' in source.read_text("utf-8")


# --- any table ----------------------------------------------------------------------------------

ROWS = st.fixed_dictionaries(
    {
        "i": st.none() | st.integers(-3, 3) | st.integers(-(2**31), 2**31 - 1),
        "m": st.none() | st.decimals(-1000, 1000, places=2),
        "w": st.none() | st.decimals(-(10**20), 10**20, places=5),
        "d": st.none() | st.dates(),
        "p": st.none() | st.integers(0, 2),
    }
)
SCHEMA = pa.schema(
    [
        ("i", pa.int32()),
        ("m", MONEY),
        ("w", pa.decimal128(38, 5)),
        ("d", pa.date32()),
        ("p", pa.int32()),
    ]
)
ASKS = [f"{f}({c})" for c in SCHEMA.names for f in ("count", "min", "max")] + ["count(*)"]
FILTERS = ["true", "p = 1", "p IS NULL", "p > 0 OR p IS NULL", "p + 1 IN (1, 3)", "i > 0"]


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    commits=st.lists(st.lists(ROWS, max_size=4), min_size=1, max_size=3),
    deleted=st.lists(st.integers(0, 3), max_size=3),
    asks=st.lists(st.sampled_from(ASKS), min_size=1, max_size=5, unique=True),
    where=st.sampled_from(FILTERS),
)
def test_answers_are_those_of_the_rows(
    spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
    commits: list[list[dict[str, Any]]],
    deleted: list[int],
    asks: list[str],
    where: str,
) -> None:
    path = tmp_path_factory.mktemp("drawn") / "t"
    for number, rows in enumerate(commits):
        lakebed.write(
            path,
            pa.Table.from_pylist(rows, SCHEMA),
            mode="append" if number else "error",
            partition_by=["p"],
            properties={} if number else {"delta.enableDeletionVectors": "true"},
        )
    delete(path, deleted)
    asked = Asked(spark, path, *asks, where=where)
    assert asked.rows == asked.expected_rows
    assert asked.schema == asked.expected_schema


def _plan(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())
