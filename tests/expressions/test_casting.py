"""Casts have the results and the errors of Spark's ANSI mode; checked against Spark 4.0."""

from __future__ import annotations

import math
from datetime import date, datetime
from decimal import ROUND_DOWN, ROUND_HALF_UP, Context, Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import EvaluationError
from lakebed.expressions.casting import can_cast, cast, is_widening, never_fails
from lakebed.expressions.values import arrow_type
from lakebed.spec.schema import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    DataType,
    DecimalType,
)

UTC = "UTC"
MONEY = DecimalType(5, 2)


def converted(value: Any, source: DataType, target: DataType) -> Any:
    array = cast(pa.array([value, None], arrow_type(source)), source, target)
    assert array.type == arrow_type(target)
    assert array[1].as_py() is None
    found = array[0].as_py()
    return found.replace(tzinfo=None) if isinstance(found, datetime) else found


@pytest.mark.parametrize(
    ("text", "target", "expected"),
    [
        (" 12 ", INTEGER, 12),
        ("+12", INTEGER, 12),
        ("-0", LONG, 0),
        ("1.5d", DOUBLE, 1.5),
        (".5", DOUBLE, 0.5),
        ("1.", FLOAT, 1.0),
        ("inf", DOUBLE, math.inf),
        ("-Infinity", FLOAT, -math.inf),
        ("1e400", DOUBLE, math.inf),
        ("16777217", FLOAT, 16777216.0),
        ("12.345", MONEY, Decimal("12.35")),
        ("-12.345", MONEY, Decimal("-12.35")),
        ("1e2", MONEY, Decimal("100.00")),
        ("0e99", MONEY, Decimal("0.00")),
        ("1e-999999999", MONEY, Decimal("0.00")),
        ("y", BOOLEAN, True),
        ("TRUE ", BOOLEAN, True),
        ("0", BOOLEAN, False),
        ("2024", DATE, date(2024, 1, 1)),
        ("2024-2", DATE, date(2024, 2, 1)),
        ("2024-2-3", DATE, date(2024, 2, 3)),
        ("02024-02-03", DATE, date(2024, 2, 3)),
        ("2024-02-03 anything", DATE, date(2024, 2, 3)),
        ("2024-02-03T", DATE, date(2024, 2, 3)),
        ("2024", TIMESTAMP, datetime(2024, 1, 1)),
        ("2024-01-02 3", TIMESTAMP, datetime(2024, 1, 2, 3)),
        ("2024-01-02 3:4", TIMESTAMP, datetime(2024, 1, 2, 3, 4)),
        ("2024-01-02T03:04:05.1234567", TIMESTAMP, datetime(2024, 1, 2, 3, 4, 5, 123456)),
        ("2024-01-02 03:04:05.", TIMESTAMP, datetime(2024, 1, 2, 3, 4, 5)),
        ("2024-01-02 03:04:05 Z", TIMESTAMP, datetime(2024, 1, 2, 3, 4, 5)),
        ("2024-01-02 03:04:05+2", TIMESTAMP, datetime(2024, 1, 2, 1, 4, 5)),
        ("2024-01-02 03:04:05 +0200", TIMESTAMP, datetime(2024, 1, 2, 1, 4, 5)),
        ("2024-01-02 03:04:05 -02:30:15", TIMESTAMP, datetime(2024, 1, 2, 5, 34, 20)),
        ("2024-01-02 03:04:05UTC+02:00", TIMESTAMP, datetime(2024, 1, 2, 1, 4, 5)),
        ("2024-01-02 03:04:05 Europe/Berlin", TIMESTAMP, datetime(2024, 1, 2, 2, 4, 5)),
        ("2024-01-02 03:04:05+02:00", TIMESTAMP_NTZ, datetime(2024, 1, 2, 3, 4, 5)),
        ("é", BINARY, "é".encode()),
    ],
)
def test_text_becomes_a_value(text: str, target: DataType, expected: Any) -> None:
    assert converted(text, STRING, target) == expected


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("", INTEGER),
        ("1.0", INTEGER),
        ("1e3", INTEGER),
        ("1_000", INTEGER),
        ("٣", INTEGER),
        ("2147483648", INTEGER),
        ("128", BYTE),
        ("", DOUBLE),
        ("1,5", DOUBLE),
        ("NaNx", DOUBLE),
        ("+nan", DOUBLE),
        ("nan", MONEY),
        ("1000", MONEY),
        ("999.995", MONEY),
        ("1e999999999", MONEY),
        ("on", BOOLEAN),
        ("24-01-02", DATE),
        ("2024-001-02", DATE),
        ("2024/01/02", DATE),
        ("20240102", DATE),
        ("2024-02-30", DATE),
        ("2024-01-02x", DATE),
        ("2024-01-02 24:00:00", TIMESTAMP),
        ("2024-01-02  10:00", TIMESTAMP),
        ("2024-01-02Z", TIMESTAMP),
        ("2024-01-02 10:00:00 +19:00", TIMESTAMP),
        ("2024-01-02 10:00:00 Nowhere/Town", TIMESTAMP),
        ("10:00", TIMESTAMP),
        ("now", TIMESTAMP),
    ],
)
def test_text_that_is_no_value_is_an_error_that_shows_it(text: str, target: DataType) -> None:
    with pytest.raises(EvaluationError) as caught:
        converted(text, STRING, target)
    assert caught.value.message == f"{text!r} of type string cannot be cast to {target}"
    assert caught.value.hint is not None


@pytest.mark.parametrize(
    ("value", "source", "target", "expected"),
    [
        (1, INTEGER, LONG, 1),
        (127, LONG, BYTE, 127),
        (2**63 - 1, LONG, DOUBLE, 9.223372036854775807e18),
        (2**63 - 1, LONG, DecimalType(38, 19), Decimal(2**63 - 1)),
        (5, LONG, MONEY, Decimal("5.00")),
        (2, INTEGER, BOOLEAN, True),
        (-5, SHORT, STRING, "-5"),
        (1.9, DOUBLE, INTEGER, 1),
        (-1.9, DOUBLE, LONG, -1),
        (0.1, DOUBLE, DecimalType(20, 18), Decimal("0.1")),
        (1.005, DOUBLE, MONEY, Decimal("1.01")),
        (-0.0, DOUBLE, BOOLEAN, False),
        (math.nan, DOUBLE, BOOLEAN, True),
        (1e300, DOUBLE, FLOAT, math.inf),
        (Decimal("-1.90"), MONEY, INTEGER, -1),
        (Decimal("1.25"), MONEY, DecimalType(2, 1), Decimal("1.3")),
        (Decimal("-1.25"), MONEY, DecimalType(2, 1), Decimal("-1.3")),
        (Decimal("999.99"), MONEY, DecimalType(4, 0), Decimal("1000")),
        (Decimal("0.10"), MONEY, DOUBLE, 0.1),
        (Decimal("0.00"), MONEY, BOOLEAN, False),
        (Decimal("0E-8"), DecimalType(10, 8), STRING, "0.00000000"),
        (True, BOOLEAN, INTEGER, 1),
        (True, BOOLEAN, DecimalType(2, 1), Decimal("1.0")),
        (False, BOOLEAN, STRING, "false"),
        (date(2024, 1, 1), DATE, TIMESTAMP, datetime(2024, 1, 1)),
        (date(99, 1, 1), DATE, STRING, "0099-01-01"),
        (datetime(1969, 12, 31, 23), TIMESTAMP, DATE, date(1969, 12, 31)),
        (datetime(2024, 1, 1, 10), TIMESTAMP_NTZ, TIMESTAMP, datetime(2024, 1, 1, 10)),
        (datetime(2024, 1, 1, 10, 0, 0, 120000), TIMESTAMP, STRING, "2024-01-01 10:00:00.12"),
        (datetime(1969, 12, 31, 23, 0, 0, 500000), TIMESTAMP, LONG, -3600),
        (b"abc", BINARY, STRING, "abc"),
        (None, VOID, DATE, None),
    ],
)
def test_values_become_other_values(
    value: Any, source: DataType, target: DataType, expected: Any
) -> None:
    assert converted(value, source, target) == expected


@pytest.mark.parametrize(
    ("value", "source", "target"),
    [
        (128, LONG, BYTE),
        (1000, INTEGER, MONEY),
        (math.nan, DOUBLE, INTEGER),
        (1e20, DOUBLE, LONG),
        (math.inf, DOUBLE, MONEY),
        (1000.0, DOUBLE, MONEY),
        (Decimal("128.00"), MONEY, BYTE),
        (Decimal("999.99"), MONEY, DecimalType(3, 0)),
        (True, BOOLEAN, DecimalType(1, 1)),
        (b"\xff", BINARY, STRING),
    ],
)
def test_values_that_do_not_fit_are_errors_that_show_them(
    value: Any, source: DataType, target: DataType
) -> None:
    values = pa.array([None, None, value, None], arrow_type(source))
    with pytest.raises(EvaluationError, match="cannot be cast to") as caught:
        cast(values, source, target)
    assert caught.value.message.startswith(repr(value))


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (DATE, INTEGER),
        (INTEGER, DATE),
        (INTEGER, BINARY),
        (BOOLEAN, DATE),
        (DOUBLE, STRING),
        (TIMESTAMP, DOUBLE),
    ],
)
def test_some_casts_do_not_exist(source: DataType, target: DataType) -> None:
    assert not can_cast(source, target)
    with pytest.raises(EvaluationError, match=f"a {source} cannot be cast to a {target}"):
        cast(pa.nulls(1, arrow_type(source)), source, target)


NUMBERS = (BYTE, SHORT, INTEGER, LONG, FLOAT, DOUBLE, MONEY, DecimalType(38, 0))
ATOMIC = (*NUMBERS, BOOLEAN, STRING, BINARY, DATE, TIMESTAMP, TIMESTAMP_NTZ)


@given(st.sampled_from(ATOMIC), st.sampled_from(ATOMIC), st.data())
def test_casts_that_are_said_never_to_fail_do_not_and_widening_ones_keep_the_order(
    source: DataType, target: DataType, data: st.DataObject
) -> None:
    if not can_cast(source, target) or not never_fails(source, target):
        return
    values = data.draw(st.lists(VALUES[str(source)], min_size=2, max_size=2))
    before = pa.array(values, arrow_type(source))

    after = cast(before, source, target).to_pylist()

    if is_widening(source, target) and before[0].as_py() <= before[1].as_py():
        assert after[0] <= after[1]


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "boolean": st.booleans(),
    "byte": st.integers(-128, 127),
    "short": st.integers(-(2**15), 2**15 - 1),
    "integer": st.integers(-(2**31), 2**31 - 1),
    "long": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(width=32, allow_nan=False),
    "double": st.floats(allow_nan=False),
    "decimal(5,2)": st.integers(-99999, 99999).map(lambda n: Decimal(n).scaleb(-2)),
    "decimal(38,0)": st.integers(-(10**37), 10**37).map(Decimal),
    "string": st.text(),
    "binary": st.binary(),
    "date": st.dates(),
    "timestamp": st.datetimes(),
    "timestamp_ntz": st.datetimes(),
}


@given(st.integers(-(10**18), 10**18), st.integers(0, 10), st.integers(0, 10))
def test_decimals_are_rounded_half_up_to_any_scale(digits: int, scale: int, target: int) -> None:
    value = Decimal(digits).scaleb(-scale)
    unit = Decimal(1).scaleb(-target)
    expected = value.quantize(unit, rounding=ROUND_HALF_UP, context=Context(prec=60))
    assert converted(value, DecimalType(19, scale), DecimalType(38, target)) == expected


@given(st.integers(-(10**18), 10**18), st.integers(0, 18))
def test_decimals_are_cut_off_to_integers_and_rounded_to_the_nearest_double(
    digits: int, scale: int
) -> None:
    value = Decimal(digits).scaleb(-scale)
    source = DecimalType(19, scale)
    assert converted(value, source, LONG) == int(value.to_integral_value(ROUND_DOWN))
    assert converted(value, source, DOUBLE) == float(value)


@given(st.integers())
def test_text_of_an_integer_is_that_integer_or_an_error(number: int) -> None:
    if -(2**63) <= number < 2**63:
        assert converted(f" {number}\t", STRING, LONG) == number
    else:
        with pytest.raises(EvaluationError):
            converted(str(number), STRING, LONG)


@given(st.dates(), st.datetimes())
def test_text_of_dates_and_timestamps_reads_back(day: date, clock: datetime) -> None:
    assert converted(converted(day, DATE, STRING), STRING, DATE) == day
    assert converted(converted(clock, TIMESTAMP, STRING), STRING, TIMESTAMP) == clock
