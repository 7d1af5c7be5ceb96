"""Which columns have statistics, and bounds that stay bounds when they are written."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.spec.properties import TableProperties
from lakebed.spec.schema import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VARIANT,
    ArrayType,
    DecimalType,
    MapType,
    StructType,
)
from lakebed.spec.stats import (
    has_bounds,
    indexed_columns,
    leaves,
    maximum_to_json,
    may_have_bounds,
    minimum_to_json,
    stats_schema,
    string_prefix_length,
    truncate_maximum,
    truncate_minimum,
)
from testkit.schemas import struct

SCHEMA = struct(
    p=STRING,
    a=LONG,
    s=struct(x=INTEGER, t=struct(y=STRING, z=DATE), w=BOOLEAN),
    l=ArrayType(struct(i=LONG)),
    m=MapType(STRING, LONG),
    b=BINARY,
    v=VARIANT,
)


def paths(columns: StructType) -> list[str]:
    return [".".join(path) for path, _ in leaves(columns)]


def indexed(configuration, schema=SCHEMA, partition_columns=("p",)) -> list[str]:
    return paths(indexed_columns(schema, TableProperties(configuration), partition_columns))


def test_default_takes_all_leaves_but_partition_columns():
    assert indexed({}) == ["a", "s.x", "s.t.y", "s.t.z", "s.w", "l", "m", "b", "v"]


def test_default_stops_after_32_leaves_wherever_they_are():
    wide = struct(s=struct(**{f"x{i}": LONG for i in range(30)}), a=LONG, b=LONG, c=LONG)
    assert indexed({}, wide, ())[-2:] == ["a", "b"]
    assert len(indexed({}, wide, ())) == 32


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ("0", []),
        ("1", ["a"]),
        ("3", ["a", "s.x", "s.t.y"]),
        ("6", ["a", "s.x", "s.t.y", "s.t.z", "s.w", "l"]),
        ("-1", ["a", "s.x", "s.t.y", "s.t.z", "s.w", "l", "m", "b", "v"]),
    ],
)
def test_num_indexed_cols_counts_leaves_across_structs(limit, expected):
    assert indexed({"delta.dataSkippingNumIndexedCols": limit}) == expected


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("a", ["a"]),
        ("S.T, A", ["a", "s.t.y", "s.t.z"]),
        ("s.t.z,s.x", ["s.x", "s.t.z"]),
        ("gone, a.b, s.gone", []),
    ],
)
def test_stats_columns_name_columns_in_any_case_and_override_the_number(names, expected):
    configuration = {
        "delta.dataSkippingStatsColumns": names,
        "delta.dataSkippingNumIndexedCols": "1",
    }
    assert indexed(configuration) == expected


def test_string_prefix_length_is_32_unless_set():
    assert string_prefix_length(TableProperties({})) == 32
    key = "delta.dataSkippingStringPrefixLength"
    assert string_prefix_length(TableProperties({key: "0"})) == 0


def test_bounds_are_for_ordered_types_only():
    bounded = (BYTE, INTEGER, LONG, DOUBLE, DATE, TIMESTAMP, TIMESTAMP_NTZ, STRING)
    assert all(map(has_bounds, (*bounded, DecimalType(38, 5))))
    assert not any(map(has_bounds, (BOOLEAN, BINARY, VARIANT, ArrayType(LONG), struct(a=LONG))))
    assert may_have_bounds(BOOLEAN)
    assert not may_have_bounds(BINARY)


def test_stats_schema_mirrors_columns_and_counts_nulls_of_every_leaf():
    columns = indexed_columns(SCHEMA, TableProperties({}), ["p"])
    schema = stats_schema(columns)
    assert schema.names == (
        "numRecords",
        "minValues",
        "maxValues",
        "nullCount",
        "tightBounds",
    )
    bounds = schema.field("minValues").data_type
    assert paths(bounds) == ["a", "s.x", "s.t.y", "s.t.z"]
    assert schema.field("maxValues").data_type == bounds
    counts = schema.field("nullCount").data_type
    assert paths(counts) == paths(columns)
    assert {field.data_type for _, field in leaves(counts)} == {LONG}


def test_stats_schema_without_bounded_columns_has_no_bounds():
    assert stats_schema(struct(b=BINARY), tight_bounds=False).names == ("numRecords", "nullCount")
    assert stats_schema(struct(), tight_bounds=False).names == ("numRecords",)
    booleans = stats_schema(struct(b=BOOLEAN), booleans=True)
    assert booleans.field("minValues").data_type == struct(b=BOOLEAN)


def test_short_strings_are_kept_whole():
    assert truncate_minimum("a" * 32) == truncate_maximum("a" * 32) == "a" * 32


@pytest.mark.parametrize(
    ("tail", "expected"),
    [
        ("b", "\x7f"),
        ("\x7e", "\x7f"),
        ("\x7f", "\U0010ffff"),
        ("ü", "\U0010ffff"),
        ("\U0010ffff" * 3, None),
        ("\U0010ffff" * 3 + "b", "\U0010ffff" * 3 + "\x7f"),
        ("\U0010ffff" * 16 + "bbb", "\U0010ffff" * 16 + "\x7f"),
    ],
)
def test_cut_maximum_gets_the_smallest_tie_breaker_that_is_larger(tail, expected):
    text = "a" * 32 + tail
    assert truncate_maximum(text) == (text if expected is None else "a" * 32 + expected)


def test_maximum_that_would_be_twice_too_long_is_given_up():
    assert truncate_maximum("a" * 32 + "\U0010ffff" * 17) is None
    assert truncate_maximum("\U0010ffff" * 33) is None
    assert truncate_maximum("\U0010ffff" * 32) == "\U0010ffff" * 32


def test_characters_outside_the_bmp_count_twice_and_are_never_split():
    text = "a" * 31 + "\U0001f600" + "bc"
    assert truncate_maximum(text) == "a" * 31 + "\U0001f600" + "\x7f"
    assert truncate_maximum("\U0001f600" * 16) == "\U0001f600" * 16
    assert truncate_maximum("\U0001f600" * 17) == "\U0001f600" * 16 + "\U0010ffff"


def test_prefix_length_zero_keeps_no_strings():
    assert truncate_minimum("abc", 0) is None
    assert truncate_maximum("abc", 0) is None
    assert truncate_maximum("", 0) == truncate_minimum("", 0) == ""


TEXTS = st.text(
    st.sampled_from("ab~\x7f\x80é߿ࠀ\ud7ff\ue000�\uffff\U00010000😀\U0010ffff"), max_size=12
)


@settings(deadline=None)
@given(TEXTS, st.integers(0, 4))
def test_cut_strings_are_bounds_in_utf8_order(text, length):
    low, high = truncate_minimum(text, length), truncate_maximum(text, length)
    assert low is None or low.encode() <= text.encode()
    assert high is None or high.encode() >= text.encode()
    assert high is None or len(high) <= max(2 * length + 2, 1)


@settings(deadline=None)
@given(TEXTS, TEXTS, st.integers(1, 4))
def test_cut_maximum_bounds_every_smaller_string(left, right, length):
    small, large = sorted([left, right], key=str.encode)
    high = truncate_maximum(large, length)
    assert high is None or small.encode() <= high.encode()


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_floats_that_json_cannot_hold_are_no_bounds(value):
    assert minimum_to_json(value, DOUBLE) is None
    assert maximum_to_json(value, DOUBLE) is None


def test_numbers_stay_as_they_are():
    assert minimum_to_json(2**62, LONG) == 2**62
    assert maximum_to_json(Decimal("1.20"), DecimalType(3, 2)) == Decimal("1.20")


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_both_zeros_lie_within_the_bounds_in_any_order(zero):
    assert str(minimum_to_json(zero, DOUBLE)) == "-0.0"
    assert str(maximum_to_json(zero, DOUBLE)) == "0.0"


def test_dates_are_iso_and_other_years_are_left_out():
    assert minimum_to_json(0, DATE) == "1970-01-01"
    assert minimum_to_json(-719_162, DATE) == "0001-01-01"
    assert maximum_to_json(2_932_896, DATE) == "9999-12-31"
    assert minimum_to_json(-719_163, DATE) is None
    assert maximum_to_json(2_932_897, DATE) is None


@pytest.mark.parametrize(
    ("micros", "text"),
    [
        (0, "1970-01-01T00:00:00.000"),
        (1_577_836_800_123_999, "2020-01-01T00:00:00.123"),
        (-1, "1969-12-31T23:59:59.999"),
        (-1001, "1969-12-31T23:59:59.998"),
    ],
)
def test_timestamps_are_cut_down_to_milliseconds(micros, text):
    assert minimum_to_json(micros, TIMESTAMP) == maximum_to_json(micros, TIMESTAMP) == text + "Z"
    assert maximum_to_json(micros, TIMESTAMP_NTZ) == text


def test_timestamps_of_other_years_are_left_out():
    assert maximum_to_json(2**63 - 1, TIMESTAMP) is None
    assert minimum_to_json(-(2**63), TIMESTAMP_NTZ) is None
