"""Partition values that are generated from a column bound it, whatever the writer's time zone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.expressions import FileColumnsProtocol, parse_predicate, skip
from lakebed.expressions.generated import GeneratedBounds
from lakebed.expressions.values import arrow_type
from lakebed.spec.columns.column_metadata import GENERATION_EXPRESSION
from lakebed.spec.schema import (
    DATE,
    DOUBLE,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    Path,
    StructField,
    StructType,
)

UTC = timezone.utc
SOURCES = (
    StructField("ts", TIMESTAMP),
    StructField("plain", TIMESTAMP_NTZ),
    StructField("on", DATE),
    StructField("name", STRING),
    StructField("n", LONG),
    StructField("x", DOUBLE),
    StructField("info", StructType((StructField("at", TIMESTAMP),))),
)


@dataclass
class Files:
    """Files with partition values, and with statistics only where a test gives some."""

    partitions: dict[str, pa.Array]
    minima: dict[Path, pa.Array]
    maxima: dict[Path, pa.Array]

    @property
    def num_files(self) -> int:
        return len(next(iter(self.partitions.values())))

    def partition(self, name: str) -> pa.Array:
        return self.partitions[name]

    def minimum(self, path: Path) -> pa.Array | None:
        return self.minima.get(path)

    def maximum(self, path: Path) -> pa.Array | None:
        return self.maxima.get(path)

    def null_count(self, _: Path) -> pa.Array | None:
        return None

    def num_records(self) -> pa.Array | None:
        return None

    def tight(self) -> pa.Array | None:
        return None


class Case:
    """A table with generated partition columns `p0`, `p1`, ... given as (SQL, type)."""

    def __init__(self, *generated: tuple[str, DataType]) -> None:
        fields = [
            StructField(f"p{place}", kind, True, {GENERATION_EXPRESSION: sql})
            for place, (sql, kind) in enumerate(generated)
        ]
        self.schema = StructType((*SOURCES, *fields))
        self.fields = fields
        self.names = [field.name for field in fields]
        self.bounds = GeneratedBounds(self.schema, self.names)

    def files(self, *rows: tuple[Any, ...], **stats: list[Any]) -> FileColumnsProtocol:
        """One file for each row of partition values."""
        arrays = {
            field.name: pa.array([row[place] for row in rows], arrow_type(field.data_type))
            for place, field in enumerate(self.fields)
        }
        micros = pa.timestamp("us", "UTC")
        sides = {side: {("ts",): pa.array(values, micros)} for side, values in stats.items()}
        return Files(arrays, sides.get("minima", {}), sides.get("maxima", {}))

    def kept(self, where: str, *rows: tuple[Any, ...], **stats: list[Any]) -> list[bool]:
        columns = self.bounds.over(self.files(*rows, **stats))
        return skip(parse_predicate(where, self.schema), columns, self.names).to_pylist()


DAY = Case(("CAST(ts AS DATE)", DATE))
DAYS = [(date(2026, 1, day),) for day in (1, 3, 5)]


@pytest.mark.parametrize(
    ("where", "kept"),
    [
        ("ts > '2026-01-04 12:00:00Z'", [False, True, True]),
        ("ts >= '2026-01-07'", [False, False, False]),
        ("ts < '2026-01-02 12:00:00'", [True, True, False]),
        ("ts = '2026-01-03 12:00:00Z'", [False, True, False]),
        ("ts <=> '2026-01-03 12:00:00Z'", [False, True, False]),
        ("ts IN ('2026-01-01 12:00:00Z', '2026-01-05 12:00:00Z')", [True, False, True]),
        ("NOT (ts > '2026-01-02 12:00:00')", [True, True, False]),
        ("ts < '2025-01-01' OR n = 1", [True, True, True]),
        ("ts < '2025-01-01' AND n = 1", [False, False, False]),
        ("CAST(ts AS DATE) = '2026-01-05'", [False, False, True]),
        ("year(ts) = 2025", [True, False, False]),
        ("ts IS NULL", [True, True, True]),
        ("n = 1", [True, True, True]),
    ],
)
def test_a_filter_on_the_source_leaves_out_partitions(where: str, kept: list[bool]) -> None:
    assert DAY.kept(where, *DAYS) == kept


def test_a_partition_without_a_value_bounds_nothing() -> None:
    assert DAY.kept("ts > '2030-01-01'", (None,), (date(2026, 1, 1),)) == [True, False]


def test_statistics_come_first_and_gaps_in_them_are_filled() -> None:
    known = datetime(2026, 1, 1, 12, tzinfo=UTC)
    files = [(date(2026, 1, 1),), (date(2026, 1, 1),), (date(2027, 1, 1),)]
    stats = {"minima": [known, None, None], "maxima": [known, None, None]}
    assert DAY.kept("ts > '2026-01-01 15:00:00Z'", *files, **stats) == [False, True, True]
    assert DAY.kept("ts > '2026-06-01'", *files, **stats) == [False, False, True]


@pytest.mark.parametrize(
    ("generated", "inside", "outside", "where"),
    [
        ((("year(ts)", INTEGER),), (2026,), (2024,), "ts > '2026-05-01'"),
        (
            (("month(ts)", INTEGER), ("year(ts)", INTEGER)),
            (5, 2026),
            (3, 2026),
            "ts > '2026-05-01'",
        ),
        (
            (("year(ts)", INTEGER), ("month(ts)", INTEGER), ("day(ts)", INTEGER)),
            (2026, 5, 4),
            (2026, 5, 1),
            "ts > '2026-05-04'",
        ),
        (
            tuple((f"{unit}(plain)", INTEGER) for unit in ("year", "month", "day", "hour")),
            (2026, 5, 4, 7),
            (2026, 5, 4, 5),
            "plain > '2026-05-04 07:30:00'",
        ),
        ((("date_format(ts, 'yyyy-MM')", STRING),), ("2026-05",), ("2026-03",), "ts > '2026-05'"),
        (
            (("date_format(plain, 'yyyy-MM-dd-HH')", STRING),),
            ("2026-05-04-07",),
            ("2026-05-04-06",),
            "plain > '2026-05-04 07:30:00'",
        ),
        (
            (("date_trunc('MONTH', ts)", TIMESTAMP),),
            (datetime(2026, 5, 1, tzinfo=UTC),),
            (datetime(2026, 3, 1, tzinfo=UTC),),
            "ts > '2026-05-03'",
        ),
        ((("trunc(on, 'MM')", DATE),), (date(2026, 5, 1),), (date(2026, 4, 1),), "on > '2026-5-9'"),
        ((("year(on)", INTEGER),), (2026,), (2025,), "on >= '2026-02-01'"),
        ((("substring(name, 0, 2)", STRING),), ("ba",), ("ca",), "name = 'bad'"),
        ((("substr(name, 1, 2)", STRING),), ("ba",), ("aa",), "name LIKE 'ba%'"),
        ((("substring(name, 1, 2)", STRING),), ("b",), ("a",), "name >= 'b'"),
        ((("n", LONG),), (5,), (6,), "n = 5"),
        (
            (("date(info.at)", DATE),),
            (date(2026, 5, 4),),
            (date(2026, 5, 1),),
            "info.at > '2026-5-4'",
        ),
    ],
)
def test_each_supported_expression_leaves_out_the_files_outside(
    generated: tuple[tuple[str, DataType], ...],
    inside: tuple[Any, ...],
    outside: tuple[Any, ...],
    where: str,
) -> None:
    assert Case(*generated).kept(where, inside, outside) == [True, False]


@pytest.mark.parametrize(
    ("sql", "kind", "value", "where"),
    [
        ("month(ts)", INTEGER, 1, "ts = '2026-05-01'"),
        ("date_format(ts, 'MM-yyyy')", STRING, "01-2020", "ts = '2026-05-01'"),
        ("date_format(ts, 'yyyy-DDD')", STRING, "2020-001", "ts = '2026-05-01'"),
        ("date_format(ts, 'yyyy-MM')", STRING, "+12026-05", "ts = '2026-05-01'"),
        ("hour(CAST(CAST(plain AS DATE) AS TIMESTAMP))", INTEGER, 0, "plain = '2026-05-01 05:00'"),
        ("substring(name, 2, 2)", STRING, "aa", "name = 'bad'"),
        ("upper(name)", STRING, "AA", "name = 'bad'"),
        ("x", DOUBLE, 0.0, "x = 1"),
        ("no_such_function(n)", LONG, 1, "n = 2"),
        ("n + 1", LONG, 1, "n = 2"),
        ("year(ts)", LONG, 1, "ts = '2026-05-01'"),
    ],
)
def test_what_keeps_no_order_or_is_not_understood_leaves_out_nothing(
    sql: str, kind: DataType, value: Any, where: str
) -> None:
    assert Case((sql, kind)).kept(where, (value,)) == [True]


# --- soundness -----------------------------------------------------------------------------------

MOMENTS = st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 28))
OFFSETS = st.integers(-18 * 60, 18 * 60).map(lambda minutes: timedelta(minutes=minutes))


def monday(day: date) -> date:
    return day - timedelta(days=day.weekday())


# Expressions as Python computes them from the writer's wall clock.
CLOCKS: list[tuple[tuple[tuple[str, DataType], ...], Callable[[datetime], tuple[Any, ...]]]] = [
    ((("CAST({} AS DATE)", DATE),), lambda at: (at.date(),)),
    ((("year({})", INTEGER),), lambda at: (at.year,)),
    ((("year({})", INTEGER), ("month({})", INTEGER)), lambda at: (at.year, at.month)),
    (
        tuple((f"{unit}({{}})", INTEGER) for unit in ("year", "month", "day", "hour")),
        lambda at: (at.year, at.month, at.day, at.hour),
    ),
    ((("date_format({}, 'yyyy-MM')", STRING),), lambda at: (f"{at.year:04}-{at.month:02}",)),
    (
        (("date_format({}, 'yyyyMMddHH')", STRING),),
        lambda at: (f"{at.year:04}{at.month:02}{at.day:02}{at.hour:02}",),
    ),
    ((("trunc({}, 'WEEK')", DATE),), lambda at: (monday(at.date()),)),
    ((("trunc({}, 'YEAR')", DATE),), lambda at: (date(at.year, 1, 1),)),
]


@settings(max_examples=150)
@given(MOMENTS, OFFSETS, st.sampled_from(CLOCKS), st.sampled_from(["ts", "plain", "on"]))
def test_no_time_is_outside_of_the_bounds_of_its_partition(
    local: datetime, offset: timedelta, clock: Any, column: str
) -> None:
    generated, compute = clock
    if column == "on":
        local = datetime(local.year, local.month, local.day)
    case = Case(*((sql.format(column), kind) for sql, kind in generated))
    stored = local - offset if column == "ts" else local
    low, high = bounds(case, column, compute(local))
    value = micros(stored) // (86_400_000_000 if column == "on" else 1)
    assert low is None or low <= value
    assert high is None or value <= high


@settings(max_examples=100)
@given(MOMENTS, OFFSETS, st.sampled_from(["DAY", "HOUR", "MONTH"]), st.booleans())
def test_no_time_is_outside_of_a_truncated_timestamp_with_or_without_a_zone(
    local: datetime, offset: timedelta, unit: str, has_zone: bool
) -> None:
    start = local.replace(minute=0, second=0, microsecond=0)
    start = start if unit == "HOUR" else start.replace(hour=0)
    start = start.replace(day=1) if unit == "MONTH" else start
    logged = start - offset if has_zone else start
    case = Case((f"date_trunc('{unit}', ts)", TIMESTAMP))
    low, high = bounds(case, "ts", (logged.replace(tzinfo=UTC),))
    assert low <= micros(local - offset) <= high


@settings(max_examples=150)
@given(st.text(max_size=5), st.integers(1, 4))
def test_no_text_is_outside_of_the_bounds_of_its_prefix(text: str, length: int) -> None:
    case = Case((f"substring(name, 1, {length})", STRING))
    low, high = bounds(case, "name", (text[:length] or None,))
    assert low is None or low.encode() <= text.encode()
    assert high is None or text.encode() <= high.encode()


def bounds(case: Case, column: str, values: tuple[Any, ...]) -> tuple[Any, Any]:
    columns = case.bounds.alone(case.files(values))
    found = [side((column,)) for side in (columns.minimum, columns.maximum)]
    assert all(each is not None for each in found)
    low, high = (each[0] for each in found if each is not None)
    return (_plain(low), _plain(high))


def _plain(scalar: pa.Scalar) -> Any:
    if not scalar.is_valid:
        return None
    return scalar.as_py() if pa.types.is_string(scalar.type) else scalar.value


def micros(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1)) // timedelta(microseconds=1)
