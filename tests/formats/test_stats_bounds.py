"""Bounds from the log, moved outwards until no row can lie beyond them."""

from __future__ import annotations

from decimal import Context, Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.formats.statistics.stats_bounds import exact_values, lower_bound, upper_bound
from lakebed.formats.statistics.stats_from_json import parse_stats
from lakebed.spec.schema import (
    DATE,
    DOUBLE,
    FLOAT,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DecimalType,
    StructField,
    StructType,
)
from lakebed.spec.stats import stats_schema

WIDENED = StructField(
    "x", DOUBLE, metadata={"delta.typeChanges": [{"fromType": "float", "toType": "double"}]}
)


@pytest.mark.parametrize("kind", [TIMESTAMP, TIMESTAMP_NTZ])
def test_maximum_timestamp_is_the_end_of_its_millisecond(kind):
    arrow = pa.timestamp("us", tz="UTC" if kind == TIMESTAMP else None)
    values = pa.array([0, -1000, None, 2**63 - 1, 2**63 - 500], pa.int64()).cast(arrow)
    field = StructField("x", kind)
    high = upper_bound(values, field).cast(pa.int64()).to_pylist()
    assert high == [999, -1, None, 2**63 - 1, 2**63 - 1]
    assert lower_bound(values, field).equals(values)


def test_bounds_of_floats_in_a_column_of_doubles_cover_both_readings():
    values = pa.array([0.1, 0.3, None, 5.0])
    low, high = lower_bound(values, WIDENED), upper_bound(values, WIDENED)
    assert low.to_pylist() == [0.1, 0.3, None, 5.0]
    assert high.to_pylist() == [0.10000000149011612, 0.30000001192092896, None, 5.0]
    plain = StructField("x", DOUBLE)
    assert upper_bound(values, plain).equals(values)


@settings(deadline=None)
@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_shortest_text_of_a_float_bounds_its_double(value):
    text = pa.scalar(value, pa.float32()).cast(pa.string()).as_py()
    read = pa.array([float(text)])
    assert lower_bound(read, WIDENED)[0].as_py() <= value <= upper_bound(read, WIDENED)[0].as_py()


DECIMALS = st.tuples(st.integers(1, 38), st.integers(0, 38)).flatmap(
    lambda shape: st.tuples(
        st.just(DecimalType(max(shape), min(shape))),
        st.integers(-(10 ** max(shape)) + 1, 10 ** max(shape) - 1),
    )
)


def through_a_double(value: Decimal) -> str:
    """As several writers do it: the digits and the scale each become a double first."""
    sign, digits, exponent = value.as_tuple()
    unscaled = int("".join(map(str, digits))) * (-1 if sign else 1)
    return repr(float(unscaled) / float(10**-exponent))


@settings(deadline=None)
@given(DECIMALS, st.booleans())
def test_decimals_that_went_through_a_double_are_still_bounded(shaped, exactly):
    kind, unscaled = shaped
    value = Decimal(unscaled).scaleb(-kind.scale, Context(prec=40))
    text = f"{value:f}" if exactly else through_a_double(value)
    schema = stats_schema(StructType((StructField("x", kind),)))
    parsed = parse_stats(pa.array([f'{{"minValues":{{"x":{text}}}}}']), schema)
    read = parsed.field("minValues").flatten()[0]
    field = StructField("x", kind)
    low, high = (bound(read, field)[0].as_py() for bound in (lower_bound, upper_bound))
    assert low is None or low <= value
    assert high is None or high >= value
    if exact_values(read, field)[0].as_py():
        assert low == high == value


def test_short_decimals_are_not_moved():
    kind = DecimalType(38, 2)
    values = pa.array([Decimal("12.34"), Decimal("1234567890123.45"), None], pa.decimal128(38, 2))
    field = StructField("x", kind)
    assert lower_bound(values, field).equals(values)
    assert upper_bound(values, field).equals(values)
    assert exact_values(values, field).to_pylist() == [True, True, False]


def test_bound_stays_within_the_precision():
    digits = Decimal("9" * 38)
    values = pa.array([digits, digits.copy_negate()], pa.decimal128(38, 0))
    field = StructField("x", DecimalType(38, 0))
    assert upper_bound(values, field)[0].as_py() == digits
    assert lower_bound(values, field)[1].as_py() == digits.copy_negate()
    assert upper_bound(values, field)[1].as_py() > digits.copy_negate()


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        (LONG, pa.array([1, None]), [True, False]),
        (DATE, pa.array([1, None], pa.int32()).cast(pa.date32()), [True, False]),
        (STRING, pa.array(["a", None]), [False, False]),
        (FLOAT, pa.array([1, None], pa.float32()), [False, False]),
        (TIMESTAMP_NTZ, pa.array([1, None], pa.timestamp("us")), [False, False]),
    ],
)
def test_only_whole_numbers_and_dates_are_exact(kind, values, expected):
    assert exact_values(values, StructField("x", kind)).to_pylist() == expected
    assert lower_bound(values, StructField("x", kind)).equals(values)
