"""Statistics of checkpoints, of whatever types their writers gave them."""

from __future__ import annotations

import math
from datetime import date, datetime, timezone
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakebed.formats.arrow_types import to_arrow_type
from lakebed.formats.checkpoint_decoder import ParquetCheckpoint
from lakebed.formats.statistics.stats_from_structs import conform_stats, has_column
from lakebed.spec.schema import (
    DATE,
    DOUBLE,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    DecimalType,
)
from lakebed.spec.stats import stats_schema
from testkit.schemas import struct


def minimums(values: pa.Array, kind: DataType) -> list:
    bounds = pa.StructArray.from_arrays([values], names=["x"])
    stats = pa.StructArray.from_arrays([bounds], names=["minValues"])
    conformed = conform_stats(stats, stats_schema(struct(x=kind)))
    assert conformed.type == to_arrow_type(stats_schema(struct(x=kind)))
    return conformed.field("minValues").field("x").to_pylist()


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        (pa.array([5, None], pa.int32()), LONG, [5, None]),
        (pa.array([5], pa.int64()), INTEGER, [5]),
        (pa.array([5, 2**40], pa.int64()), INTEGER, [None, None]),
        (pa.array([5], pa.int32()), DOUBLE, [5.0]),
        (pa.array([0.5], pa.float32()), DOUBLE, [0.5]),
        (pa.array([1.5, math.nan]), DOUBLE, [1.5, None]),
        (pa.array([5], pa.int32()), DecimalType(12, 2), [Decimal("5.00")]),
        (pa.array([Decimal("1.5")]), DecimalType(9, 3), [Decimal("1.500")]),
        (pa.array([Decimal("1.55")]), DecimalType(9, 1), [None]),
        (pa.array([date(2020, 1, 1)]), TIMESTAMP_NTZ, [datetime(2020, 1, 1)]),
        (
            pa.array([datetime(2020, 1, 1)], pa.timestamp("ms")),
            TIMESTAMP_NTZ,
            [datetime(2020, 1, 1)],
        ),
        (pa.array([datetime(2020, 1, 1)], pa.timestamp("ns")), TIMESTAMP_NTZ, [None]),
        (pa.array(["a"], pa.large_string()), STRING, ["a"]),
        (pa.array(["a"]).dictionary_encode(), STRING, ["a"]),
        (pa.array(["5"]), LONG, [None]),
        (pa.array([5]), STRING, [None]),
        (pa.array([18_262]), DATE, [None]),
        (pa.nulls(1), DATE, [None]),
        (pa.array([{"y": 1}]), LONG, [None]),
    ],
)
def test_types_are_widened_or_there_are_no_statistics(values, kind, expected):
    assert minimums(values, kind) == expected


def test_utc_is_added_to_timestamps_without_it():
    values = pa.array([0], pa.int64()).cast(pa.timestamp("us"))
    (value,) = minimums(values, TIMESTAMP)
    assert value.tzinfo is not None
    assert value.timestamp() == 0


def test_missing_parts_are_null_and_null_structs_hide_what_is_in_them():
    inner = pa.StructArray.from_arrays(
        [pa.array([1, 2])], names=["x"], mask=pa.array([False, True])
    )
    stats = pa.StructArray.from_arrays(
        [inner, pa.array([7, -7])], names=["nullCount", "numRecords"]
    )
    conformed = conform_stats(stats, stats_schema(struct(x=LONG, y=LONG)))
    assert conformed.field("numRecords").to_pylist() == [7, None]
    assert conformed.field("nullCount").to_pylist() == [{"x": 1, "y": None}, None]
    assert conformed.field("minValues").null_count == 2


def test_a_struct_where_a_column_is_wanted_and_the_other_way_round_is_nothing():
    stats = pa.array([{"minValues": {"x": {"y": 1}, "s": 5}, "nullCount": 3}])
    conformed = conform_stats(stats, stats_schema(struct(x=LONG, s=struct(y=LONG))))
    assert conformed.field("minValues").to_pylist() == [{"x": None, "s": None}]
    assert conformed.field("nullCount").to_pylist() == [None]


def test_has_column_looks_at_the_type_only():
    kind = pa.struct([("nullCount", pa.struct([("a", pa.struct([("b", pa.int64())]))]))])
    assert has_column(kind, ("a", "b"))
    assert not has_column(kind, ("a", "c"))
    assert not has_column(kind, ("a", "b", "c"))
    assert not has_column(pa.null(), ("a",))


def test_int96_of_a_checkpoint_keeps_years_that_nanoseconds_cannot_hold():
    late = datetime(9999, 12, 31, 23, 59, 59, 999_999)
    stats = pa.array(
        [{"minValues": {"x": late}}],
        pa.struct([("minValues", pa.struct([("x", pa.timestamp("us"))]))]),
    )
    add = pa.StructArray.from_arrays([pa.array(["a"]), stats], names=["path", "stats_parsed"])
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"add": add}), sink, use_deprecated_int96_timestamps=True)
    read = ParquetCheckpoint(sink.getvalue(), "checkpoint").files("add", ["stats_parsed"])
    parsed = read.column("stats_parsed").combine_chunks()
    conformed = conform_stats(parsed, stats_schema(struct(x=TIMESTAMP)))
    assert conformed.field("minValues").to_pylist() == [{"x": late.replace(tzinfo=timezone.utc)}]
