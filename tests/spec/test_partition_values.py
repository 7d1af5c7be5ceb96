"""Partition values: every type, both directions, one by one and as columns."""

import math
import time
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.errors import PartitionValueError
from lakebed.spec.partition_values import (
    parse_column,
    parse_value,
    serialize_column,
    serialize_value,
)
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
    VARIANT,
    VOID,
    ArrayType,
    DataType,
    DecimalType,
    StructType,
)

UTC = timezone.utc
ATOMIC = [
    STRING,
    LONG,
    INTEGER,
    SHORT,
    BYTE,
    FLOAT,
    DOUBLE,
    BOOLEAN,
    BINARY,
    DATE,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DecimalType(10, 2),
]
TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
VALUES: dict[str, tuple[DataType, st.SearchStrategy[Any]]] = {
    "string": (STRING, TEXT),
    "long": (LONG, st.integers(-(2**63), 2**63 - 1)),
    "integer": (INTEGER, st.integers(-(2**31), 2**31 - 1)),
    "short": (SHORT, st.integers(-(2**15), 2**15 - 1)),
    "byte": (BYTE, st.integers(-128, 127)),
    "float": (FLOAT, st.floats(width=32, allow_nan=False)),
    "double": (DOUBLE, st.floats(allow_nan=False)),
    "boolean": (BOOLEAN, st.booleans()),
    "binary": (BINARY, TEXT.map(lambda text: text.encode())),
    "date": (DATE, st.dates()),
    "timestamp": (TIMESTAMP, st.datetimes(timezones=st.just(UTC))),
    "timestamp_ntz": (TIMESTAMP_NTZ, st.datetimes()),
    "decimal": (
        DecimalType(38, 10),
        st.decimals(
            allow_nan=False, allow_infinity=False, places=10, min_value=-(10**27), max_value=10**27
        ),
    ),
}


@pytest.mark.parametrize("name", VALUES)
@settings(deadline=None)
@given(data=st.data())
def test_every_value_survives_the_log(name: str, data: st.DataObject) -> None:
    data_type, strategy = VALUES[name]
    value = data.draw(strategy)
    assert parse_value(serialize_value(value, data_type), data_type) == value


@pytest.mark.parametrize("name", VALUES)
@settings(deadline=None)
@given(data=st.data())
def test_columns_agree_with_single_values(name: str, data: st.DataObject) -> None:
    data_type, strategy = VALUES[name]
    values = data.draw(st.lists(st.none() | strategy, max_size=6))
    texts = pa.array([serialize_value(value, data_type) for value in values], pa.string())
    column = parse_column(texts, data_type)
    assert column.to_pylist() == values
    assert serialize_column(column, data_type).equals(texts)


@pytest.mark.parametrize("data_type", ATOMIC, ids=str)
def test_null_and_the_empty_string_are_null_for_every_type(data_type: DataType) -> None:
    assert parse_value(None, data_type) is None
    assert parse_value("", data_type) is None
    assert serialize_value(None, data_type) is None
    column = parse_column(pa.array(["", None]), data_type)
    assert column.null_count == 2
    assert serialize_column(column, data_type).to_pylist() == [None, None]


def test_an_empty_string_or_binary_is_written_as_null() -> None:
    assert serialize_value("", STRING) is None
    assert serialize_value(b"", BINARY) is None
    assert serialize_column(pa.array(["", "a"]), STRING).to_pylist() == [None, "a"]


def test_the_hive_name_of_null_is_null_except_for_strings() -> None:
    for data_type in ATOMIC[1:]:
        assert parse_value("__HIVE_DEFAULT_PARTITION__", data_type) is None
    assert parse_value("__HIVE_DEFAULT_PARTITION__", STRING) == "__HIVE_DEFAULT_PARTITION__"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1970-01-01 00:00:00", datetime(1970, 1, 1, tzinfo=UTC)),
        ("1970-01-01 00:00:00.123456", datetime(1970, 1, 1, 0, 0, 0, 123456, UTC)),
        ("2020-01-01 08:09:10.001", datetime(2020, 1, 1, 8, 9, 10, 1000, UTC)),
        ("1970-01-01T00:00:00.123456Z", datetime(1970, 1, 1, 0, 0, 0, 123456, UTC)),
        ("2024-06-01T12:00:00+02:00", datetime(2024, 6, 1, 10, tzinfo=UTC)),
        ("2024-06-01 12:00:00-0330", datetime(2024, 6, 1, 15, 30, tzinfo=UTC)),
        ("2024-06-01", datetime(2024, 6, 1, tzinfo=UTC)),
        ("2024-06-01 23:59:59.9999999", datetime(2024, 6, 1, 23, 59, 59, 999999, UTC)),
    ],
)
def test_timestamps_are_read_in_both_forms(text: str, value: datetime) -> None:
    assert parse_value(text, TIMESTAMP) == value
    assert parse_column(pa.array([text]), TIMESTAMP).to_pylist() == [value]


@pytest.mark.parametrize("ignored", [False, True], ids=["zones", "zones ignored by pyarrow"])
def test_timestamps_are_written_in_utc_with_six_digits(
    monkeypatch: pytest.MonkeyPatch, ignored: bool
) -> None:
    if ignored:
        monkeypatch.setenv("PYARROW_IGNORE_TIMEZONE", "1")
    zone = timezone(timedelta(hours=2))
    assert serialize_value(datetime(2024, 1, 1, 2, tzinfo=zone), TIMESTAMP) == (
        "2024-01-01T00:00:00.000000Z"
    )
    array = pa.array([1_704_067_200_123_456], pa.timestamp("us", tz="Europe/Berlin"))
    assert serialize_column(array, TIMESTAMP).to_pylist() == ["2024-01-01T00:00:00.123456Z"]


def test_local_timestamps_keep_their_clock_time() -> None:
    value = datetime(2021, 11, 18, 2, 30, 0, 123000)
    assert serialize_value(value, TIMESTAMP_NTZ) == "2021-11-18 02:30:00.123"
    assert parse_value("2021-11-18 02:30:00.123", TIMESTAMP_NTZ) == value
    assert parse_value("2021-11-18T02:30:00.123Z", TIMESTAMP_NTZ) == value


@pytest.mark.parametrize(
    ("text", "days"),
    [("+10000-01-01", 2932897), ("0000-12-31", -719163), ("-0044-03-15", -735525)],
)
def test_dates_beyond_python_s_years_are_read_and_written_as_columns(text: str, days: int) -> None:
    column = parse_column(pa.array([text]), DATE)
    assert column.cast(pa.int32()).to_pylist() == [days]
    assert serialize_column(column, DATE).to_pylist() == [text]
    with pytest.raises(PartitionValueError, match="outside the years 1 to 9999"):
        parse_value(text, DATE)


@settings(deadline=None)
@given(st.integers(-(2**63), 2**63 - 1))
def test_every_timestamp_of_arrow_survives_the_log(micros: int) -> None:
    for data_type, arrow in (
        (TIMESTAMP, pa.timestamp("us", "UTC")),
        (TIMESTAMP_NTZ, pa.timestamp("us")),
    ):
        column = pa.array([micros], arrow)
        assert parse_column(serialize_column(column, data_type), data_type).equals(column)


@settings(deadline=None)
@given(st.integers(-(2**31), 2**31 - 1))
def test_every_date_of_arrow_survives_the_log(days: int) -> None:
    column = pa.array([days], pa.int32()).cast(pa.date32())
    assert parse_column(serialize_column(column, DATE), DATE).equals(column)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1.0"),
        (-0.0, "-0.0"),
        (0.1, "0.1"),
        (0.001, "0.001"),
        (0.0009, "9.0E-4"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (123456789.125, "1.23456789125E8"),
        (5e-324, "4.9E-324"),
        (5.960464477539063e-08, "5.960464477539063E-8"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (math.nan, "NaN"),
    ],
)
def test_doubles_are_written_as_java_prints_them(value: float, text: str) -> None:
    assert serialize_value(value, DOUBLE) == text
    assert repr(parse_value(text, DOUBLE)) == repr(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1, "0.1"),
        (16777216.0, "1.6777216E7"),
        (3.4028234663852886e38, "3.4028235E38"),
        (1.401298464324817e-45, "1.4E-45"),
        (math.nan, "NaN"),
    ],
)
def test_floats_are_written_as_java_prints_them(value: float, text: str) -> None:
    assert serialize_value(value, FLOAT) == text
    column = pa.array([value], pa.float32())
    assert serialize_column(parse_column(pa.array([text]), FLOAT), FLOAT).to_pylist() == [text]
    assert repr(parse_value(text, FLOAT)) == repr(column[0].as_py())


def test_both_zeros_keep_their_sign_in_one_column() -> None:
    column = pa.array([0.0, -0.0, 0.0])
    assert serialize_column(column, DOUBLE).to_pylist() == ["0.0", "-0.0", "0.0"]


def test_decimals_are_exact_and_written_with_their_scale() -> None:
    assert parse_value("-2342342.23423", DecimalType(12, 5)) == Decimal("-2342342.23423")
    assert parse_value("4E-5", DecimalType(12, 5)) == Decimal("0.00004")
    assert serialize_value(Decimal("0.00004"), DecimalType(12, 5)) == "0.00004"
    assert serialize_value(Decimal("234"), DecimalType(12, 5)) == "234.00000"
    assert serialize_value(7, DecimalType(3, 1)) == "7.0"
    largest = "9" * 38
    assert parse_value(largest, DecimalType(38, 0)) == Decimal(largest)


def test_binary_values_are_the_utf8_bytes_of_their_text() -> None:
    assert parse_value("\u0001\u0002\u0003", BINARY) == b"\x01\x02\x03"
    assert parse_value("é", BINARY) == "é".encode()
    with pytest.raises(PartitionValueError, match="not UTF-8"):
        serialize_value(b"\xff\x00", BINARY)


def test_booleans_and_whole_numbers_are_read_in_the_spellings_of_spark() -> None:
    assert [parse_value(text, BOOLEAN) for text in ("true", "FALSE", "1", "no")] == [
        True,
        False,
        True,
        False,
    ]
    assert [parse_value(text, INTEGER) for text in ("+7", " 7 ", "2021.0")] == [7, 7, 2021]


@pytest.mark.parametrize(
    ("text", "data_type"),
    [
        ("ten", INTEGER),
        ("1.5", LONG),
        ("0x10", LONG),
        ("1_000", LONG),
        ("²", LONG),
        ("128", BYTE),
        ("-32769", SHORT),
        ("2147483648", INTEGER),
        ("9223372036854775808", LONG),
        ("9" * 5000, LONG),
        ("1_0.0", DOUBLE),
        ("abc", FLOAT),
        ("maybe", BOOLEAN),
        ("2024-02-30", DATE),
        ("2023-02-29", DATE),
        ("2024-13-01", DATE),
        ("24-01-01", DATE),
        ("9999999-01-01", DATE),
        ("2024-01-01 24:00:00", TIMESTAMP),
        ("2024-01-01 00:00:00 Mars/Base", TIMESTAMP),
        ("2024-01-01T00:00:00+99:00", TIMESTAMP),
        ("999999-01-01 00:00:00", TIMESTAMP),
        ("yesterday", TIMESTAMP_NTZ),
        ("1.234", DecimalType(5, 2)),
        ("1234.5", DecimalType(5, 2)),
        ("1e999999999999", DecimalType(5, 2)),
        ("NaN", DecimalType(5, 2)),
    ],
)
def test_bad_text_is_refused_with_column_type_and_value(text: str, data_type: DataType) -> None:
    with pytest.raises(PartitionValueError) as caught:
        parse_value(text, data_type, column="p")
    assert "'p'" in str(caught.value)
    assert str(data_type) in str(caught.value)
    assert repr(text) in str(caught.value)
    with pytest.raises(PartitionValueError):
        parse_column(pa.array([None, text]), data_type, column="p")


@settings(deadline=None)
@given(text=TEXT, data_type=st.sampled_from(ATOMIC))
def test_no_text_ever_gives_another_exception(text: str, data_type: DataType) -> None:
    try:
        value = parse_value(text, data_type)
    except PartitionValueError:
        return
    if value is not None:
        assert parse_value(serialize_value(value, data_type), data_type) == value or value != value


@pytest.mark.parametrize(
    ("value", "data_type"),
    [
        (True, INTEGER),
        (1.5, LONG),
        (128, BYTE),
        ("1", LONG),
        (b"x", STRING),
        (datetime(2024, 1, 1), DATE),
        (datetime(2024, 1, 1), TIMESTAMP),
        (datetime(2024, 1, 1, tzinfo=UTC), TIMESTAMP_NTZ),
        (date(2024, 1, 1), TIMESTAMP_NTZ),
        (Decimal("1.234"), DecimalType(5, 2)),
        (Decimal("99999"), DecimalType(5, 2)),
        (2**70, LONG),
    ],
)
def test_values_of_another_type_are_refused(value: Any, data_type: DataType) -> None:
    with pytest.raises(PartitionValueError, match="is not a value of it"):
        serialize_value(value, data_type, column="p")


def test_columns_of_another_arrow_type_are_cast_or_refused() -> None:
    assert serialize_column(pa.array([1, 2], pa.int16()), LONG).to_pylist() == ["1", "2"]
    assert serialize_column(pa.array(["a"]).dictionary_encode(), STRING).to_pylist() == ["a"]
    with pytest.raises(PartitionValueError, match="int64"):
        serialize_column(pa.array([2**40]), INTEGER)
    with pytest.raises(PartitionValueError, match="timestamp"):
        serialize_column(pa.array([1], pa.timestamp("ns")), TIMESTAMP_NTZ)


@pytest.mark.parametrize("data_type", [VARIANT, VOID, ArrayType(LONG), StructType()], ids=str)
def test_types_that_cannot_partition_a_table_are_refused(data_type: DataType) -> None:
    with pytest.raises(PartitionValueError, match="cannot be a partition column"):
        parse_value("1", data_type)
    with pytest.raises(PartitionValueError, match="cannot be a partition column"):
        serialize_value(1, data_type)


def test_chunked_dictionary_and_empty_columns_are_read() -> None:
    chunked = pa.chunked_array([["1", None], ["2", "1"]])
    assert parse_column(chunked, LONG).to_pylist() == [1, None, 2, 1]
    encoded = pa.array(["2024-01-01", None, "2024-01-01"]).dictionary_encode()
    assert parse_column(encoded, DATE).to_pylist() == [date(2024, 1, 1), None, date(2024, 1, 1)]
    for data_type in ATOMIC:
        assert len(parse_column(pa.array([], pa.string()), data_type)) == 0
        assert len(parse_column(pa.chunked_array([], pa.string()), data_type)) == 0


LOOKALIKES = st.one_of(
    st.from_regex(r"-?[0-9]{1,19}(\.[0-9]{1,20})?(E-?[0-9]{1,3})?", fullmatch=True),
    st.from_regex(r"[0-9]{4}-[0-2][0-9]-[0-3][0-9]", fullmatch=True),
    st.from_regex(
        r"[0-9]{4}-[01][0-9]-[0-3][0-9][ T][0-2][0-9]:[0-6][0-9]:[0-6][0-9](\.[0-9]{1,7})?Z?",
        fullmatch=True,
    ),
)


@settings(deadline=None, max_examples=300)
@given(text=LOOKALIKES, data_type=st.sampled_from(ATOMIC))
def test_what_arrow_reads_by_itself_is_what_lakebed_reads(text: str, data_type: DataType) -> None:
    # The second value is in a form that only Lakebed reads, so the whole column is.
    odd = {"date": "2020-1-1", "timestamp": "2020-1-1", "timestamp_ntz": "2020-1-1"}
    slow = pa.array([text, odd.get(str(data_type), " 1 ")])
    try:
        expected = parse_column(slow, data_type)[:1]
    except PartitionValueError:
        with pytest.raises(PartitionValueError):
            parse_column(pa.array([text]), data_type)
    else:
        assert parse_column(pa.array([text]), data_type).equals(expected)


@pytest.mark.parametrize(
    ("data_type", "text"),
    [(DATE, "2020-01-{:02d}"), (TIMESTAMP, "2020-01-01T00:00:{:02d}.5Z"), (LONG, "{}")],
    ids=str,
)
def test_a_million_texts_take_a_blink(data_type: DataType, text: str) -> None:
    texts = pa.array([text.format(n) for n in range(1, 31)] * 33_334)
    began = time.perf_counter()
    column = parse_column(texts, data_type)
    assert time.perf_counter() - began < 2
    assert column[-1].as_py() == parse_value(text.format(30), data_type)
