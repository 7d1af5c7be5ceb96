"""Statistics from JSON: every type exactly, odd values as no statistics, never an exception."""

from __future__ import annotations

import json
from datetime import date, datetime, timezone
from decimal import Decimal

import orjson
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.formats.arrow_types import to_arrow_type
from lakebed.formats.statistics import stats_from_json
from lakebed.formats.statistics.stats_from_json import parse_stats
from lakebed.spec.schema import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    DecimalType,
    StructField,
    StructType,
)
from lakebed.spec.stats import stats_schema
from testkit.schemas import struct


def parse(texts, columns: StructType) -> pa.StructArray:
    schema = stats_schema(columns, booleans=True)
    parsed = parse_stats(pa.array(texts, pa.string()), schema)
    parsed.validate(full=True)
    assert parsed.type == to_arrow_type(schema)
    assert len(parsed) == len(texts)
    return parsed


def minimum(literal: str, kind: DataType):
    """What becomes of `{"minValues": {"x": <literal>}}`, in both ways of reading it."""
    text = f'{{"numRecords":3,"minValues":{{"x":{literal}}}}}'
    (alone,) = parse([text], struct(x=kind)).to_pylist()
    # A text that the fast way refuses makes its neighbours be read one by one.
    *_, beside = parse(['{"numRecords":"?"}', text], struct(x=kind)).to_pylist()
    assert repr(alone) == repr(beside)
    assert alone["numRecords"] == 3
    return (alone["minValues"] or {}).get("x")


UTC = timezone.utc


@pytest.mark.parametrize(
    ("kind", "literal", "expected"),
    [
        (LONG, "9223372036854775807", 2**63 - 1),
        (LONG, "-9223372036854775808", -(2**63)),
        (LONG, "9223372036854775808", None),
        (LONG, "123456789012345678", 123456789012345678),
        (LONG, "5.0", 5),
        (LONG, "1e3", 1000),
        (LONG, "5.5", None),
        (LONG, '"5"', None),
        (LONG, "true", None),
        (LONG, "1e400", None),
        (LONG, "1e999999999", None),
        (INTEGER, "2147483648", None),
        (INTEGER, "-2147483648", -(2**31)),
        (BYTE, "128", None),
        (BYTE, "127", 127),
        (DOUBLE, "0.1", 0.1),
        (DOUBLE, "7", 7.0),
        (DOUBLE, "-0.0", -0.0),
        (DOUBLE, "1e308", 1e308),
        (DOUBLE, "1e400", None),
        (DOUBLE, "NaN", None),
        (DOUBLE, '"NaN"', None),
        (DOUBLE, '"Infinity"', None),
        (DOUBLE, '"-Infinity"', None),
        (DOUBLE, '"0.1"', None),
        (DOUBLE, "false", None),
        (FLOAT, "0.1", 0.10000000149011612),
        (FLOAT, "3.4028235E38", 3.4028234663852886e38),
        (FLOAT, "1e39", None),
        (FLOAT, '"NaN"', None),
        (BOOLEAN, "true", True),
        (BOOLEAN, "1", None),
        (STRING, '"a\\"b\\u00e9\\n"', 'a"bé\n'),
        (STRING, '"\\ud83d\\ude00"', "😀"),
        (STRING, '"\\ud83d"', None),
        (STRING, '"\\u0000"', "\0"),
        (STRING, '""', ""),
        (STRING, "5", None),
        (STRING, '{"a":1}', None),
        (STRING, "[1]", None),
        (DATE, '"2020-02-29"', date(2020, 2, 29)),
        (DATE, '"0001-01-01"', date(1, 1, 1)),
        (DATE, '"2021-02-29"', None),
        (DATE, '"yesterday"', None),
        (DATE, "5", None),
        (DATE, '"2020-02-29T10:00:00"', date(2020, 2, 29)),
        (DecimalType(5, 2), "1.5", Decimal("1.50")),
        (DecimalType(5, 2), "-999.99", Decimal("-999.99")),
        (DecimalType(5, 2), "1000", None),
        (DecimalType(5, 2), "0.30000000000000004", Decimal("0.30")),
        (DecimalType(5, 2), '"1.25"', Decimal("1.25")),
        (DecimalType(5, 2), '"NaN"', None),
        (DecimalType(5, 2), "true", None),
        (DecimalType(5, 2), "1e-7", Decimal("0.00")),
        (
            DecimalType(38, 10),
            "1234567890123456789012345678.0123456789",
            Decimal("1234567890123456789012345678.0123456789"),
        ),
        (DecimalType(38, 10), "1.2345678901234566e+17", Decimal("123456789012345660")),
        (DecimalType(38, 10), "0E-10", Decimal(0)),
    ],
)
def test_a_value_is_read_exactly_or_is_no_statistic(kind, literal, expected):
    value = minimum(literal, kind)
    assert value == expected
    assert type(value) is type(expected)
    assert str(value) == str(expected) or isinstance(value, Decimal)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2020-01-01T00:00:00.123Z", datetime(2020, 1, 1, 0, 0, 0, 123000, UTC)),
        ("2020-01-01T00:00:00.123-08:00", datetime(2020, 1, 1, 8, 0, 0, 123000, UTC)),
        ("2020-01-01T00:00:00.123+05:30", datetime(2019, 12, 31, 18, 30, 0, 123000, UTC)),
        ("2020-01-01 00:00:00", datetime(2020, 1, 1, tzinfo=UTC)),
        ("2020-01-01 00:00:00.5", datetime(2020, 1, 1, 0, 0, 0, 500000, UTC)),
        ("2020-01-01T00:00:00.123456Z", datetime(2020, 1, 1, 0, 0, 0, 123456, UTC)),
        ("2020-01-01T00:00:00.123456789Z", datetime(2020, 1, 1, 0, 0, 0, 123456, UTC)),
        ("1969-12-31T23:59:59.999999999Z", datetime(1969, 12, 31, 23, 59, 59, 999999, UTC)),
        ("2020-01-01", datetime(2020, 1, 1, tzinfo=UTC)),
        ("0001-01-01T00:00:00.000Z", datetime(1, 1, 1, tzinfo=UTC)),
        ("2020-01-01T25:00:00.000Z", None),
        ("2020-01-01T00:00:00.000+99:00", None),
        ("soon", None),
    ],
)
def test_timestamps_of_any_usual_form_are_read_in_utc(text, expected):
    assert minimum(json.dumps(text), TIMESTAMP) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2020-01-01T00:00:00.123", datetime(2020, 1, 1, 0, 0, 0, 123000)),
        ("2020-01-01 00:00:00.123", datetime(2020, 1, 1, 0, 0, 0, 123000)),
        ("2020-01-01T00:00:00.123Z", datetime(2020, 1, 1, 0, 0, 0, 123000)),
        ("2020-01-01", datetime(2020, 1, 1)),
        ("2020-01-01T00:00:00.123-08:00", None),
        ("2020-01-01T00:00:00+0800", None),
        ("soon", None),
    ],
)
def test_local_timestamps_have_no_zone(text, expected):
    assert minimum(json.dumps(text), TIMESTAMP_NTZ) == expected


def test_years_beyond_9999_are_read():
    text = json.dumps({"maxValues": {"d": "+12345-01-02", "t": "+12345-01-02T00:00:00.000Z"}})
    parsed = parse([text], struct(d=DATE, t=TIMESTAMP))
    high = parsed.field("maxValues")
    days = high.field("d").cast(pa.int32())[0].as_py()
    assert days == 3_789_392
    assert high.field("t").cast(pa.int64())[0].as_py() == days * 86_400_000_000


def test_nested_columns_are_found_by_their_path():
    text = '{"minValues":{"s":{"a":1,"t":{"b":"x"}},"a":7},"nullCount":{"s":{"a":2}}}'
    (row,) = parse([text], struct(s=struct(a=LONG, t=struct(b=STRING)), a=LONG)).to_pylist()
    assert row["minValues"] == {"s": {"a": 1, "t": {"b": "x"}}, "a": 7}
    assert row["nullCount"] == {"s": {"a": 2, "t": None}, "a": None}
    assert row["maxValues"] is None


def test_columns_without_bounds_still_have_null_counts():
    text = '{"minValues":{"b":"x","l":[1]},"nullCount":{"b":1,"l":2}}'
    (row,) = parse([text], struct(b=BINARY)).to_pylist()
    assert row["nullCount"] == {"b": 1}
    assert "minValues" not in row


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        " ",
        "not json",
        "[]",
        "5",
        '"x"',
        "{",
        "null",
        "{}{}",
        '{"numRecords":1}}',
        '{"numRecords":1',
        '{"numRecords":1},"stats":{"numRecords":2}',
        "[" * 100_000,
    ],
)
def test_text_that_is_no_object_has_no_statistics_and_harms_no_neighbour(text):
    texts = ['{"numRecords":1}', text, '{"numRecords":2}']
    counts = parse(texts, struct(x=LONG)).field("numRecords").to_pylist()
    assert counts[0] == 1
    assert counts[1] is None
    assert counts[2] == 2


def test_texts_that_are_json_only_together_are_not_taken_for_json():
    texts = ['{"numRecords":1', '"x":{"numRecords":2}}', '{"numRecords":3}{"numRecords":4}']
    parsed = parse([*texts, '{"numRecords":5}'], struct(x=LONG))
    assert parsed.field("numRecords").to_pylist() == [None, None, None, 5]


@pytest.mark.parametrize("literal", ["-1", '"1"', "1.5", "null", "[]", "true"])
def test_counts_are_whole_and_not_negative(literal):
    text = f'{{"numRecords":{literal},"nullCount":{{"x":{literal}}}}}'
    (row,) = parse([text], struct(x=LONG)).to_pylist()
    assert row["numRecords"] is None
    assert row["nullCount"] == {"x": None}


def test_one_odd_column_takes_nothing_from_the_others():
    text = '{"numRecords":5,"minValues":{"a":"?","b":2},"maxValues":"?","nullCount":{"a":0}}'
    (row,) = parse([text], struct(a=LONG, b=LONG)).to_pylist()
    assert row["minValues"] == {"a": None, "b": 2}
    assert row["maxValues"] is None
    assert row["nullCount"] == {"a": 0, "b": None}
    assert row["numRecords"] == 5


def test_the_last_of_two_equal_keys_counts():
    assert minimum('1,"x":2', LONG) == 2


def test_white_space_and_unknown_keys_do_not_matter():
    text = '\n {"numRecords" : 5 ,\n "new" : [ {"a":1} ], "minValues":{"x":1}\t}\n'
    (row,) = parse([text], struct(x=LONG)).to_pylist()
    assert row["numRecords"] == 5
    assert row["minValues"] == {"x": 1}


def test_chunks_and_slices_and_no_rows_at_all():
    schema = stats_schema(struct(x=LONG))
    texts = pa.array([f'{{"numRecords":{i}}}' for i in range(10)])
    chunked = pa.chunked_array([texts[2:4], texts[7:9]])
    assert parse_stats(chunked, schema).field("numRecords").to_pylist() == [2, 3, 7, 8]
    empty = parse_stats(pa.chunked_array([], pa.string()), schema)
    assert len(empty) == 0
    assert empty.type == to_arrow_type(schema)


def test_many_texts_with_a_few_odd_ones_are_all_in_their_place(monkeypatch):
    monkeypatch.setattr(stats_from_json, "_PIECE", 20_000)
    odd = {7: "?", 1500: '{"minValues":{"x":"NaN"}}', 2999: None}
    texts = [odd.get(i, f'{{"minValues":{{"x":{i}.5}}}}') for i in range(3000)]
    values = parse(texts, struct(x=DOUBLE)).field("minValues").flatten()[0].to_pylist()
    assert values == [None if i in odd else i + 0.5 for i in range(3000)]


def test_nan_written_as_text_is_no_reason_to_read_text_by_text(monkeypatch):
    def never(*_):
        raise AssertionError("read text by text")

    monkeypatch.setattr(stats_from_json._Reader, "read_each", never)
    texts = [
        '{"minValues":{"x":1.5,"a.b":"-Infinity","s":"NaN"},"maxValues":{"x":"NaN"}}',
        '{"minValues":{"x":"Infinity","a.b":2,"s":"x:\\"NaN\\""}}',
    ]
    columns = StructType(
        (StructField("x", DOUBLE), StructField("a.b", FLOAT), StructField("s", STRING))
    )
    first, second = parse(texts, columns).to_pylist()
    assert first["minValues"] == {"x": 1.5, "a.b": None, "s": "NaN"}
    assert first["maxValues"] == {"x": None, "a.b": None, "s": None}
    assert second["minValues"] == {"x": None, "a.b": 2.0, "s": 'x:"NaN"'}


def test_nan_of_a_number_and_of_a_string_of_the_same_name_are_told_apart():
    columns = struct(s=struct(x=STRING), t=struct(x=DOUBLE))
    (row,) = parse(['{"minValues":{"s":{"x":"NaN"},"t":{"x":"NaN"}}}'], columns).to_pylist()
    assert row["minValues"] == {"s": {"x": "NaN"}, "t": {"x": None}}


def test_a_text_longer_than_a_block_is_read():
    long = "x" * 5_000_000
    (row,) = parse(
        [orjson.dumps({"minValues": {"x": long}}).decode()], struct(x=STRING)
    ).to_pylist()
    assert row["minValues"] == {"x": long}


COLUMNS = struct(
    i=LONG, d=DOUBLE, s=STRING, m=DecimalType(20, 3), t=TIMESTAMP, n=struct(b=BOOLEAN, y=DATE)
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=True)
    | st.sampled_from(["2020-01-01", "2020-01-01T00:00:00.000Z", "NaN", "1.5", "é\0"])
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["i", "d", "s", "m", "t", "n", "b", "y"]), inner)
    ),
    max_leaves=10,
)
STATS = st.dictionaries(
    st.sampled_from(["numRecords", "minValues", "maxValues", "nullCount", "tightBounds"]), JSON
)


@settings(deadline=None)
@given(st.lists(STATS | JSON, max_size=4))
def test_any_json_gives_values_of_the_columns_and_the_same_in_both_ways(rows):
    texts = [json.dumps(row) for row in rows]
    parsed = parse(texts, COLUMNS)
    schema = stats_schema(COLUMNS, booleans=True)
    one_by_one = stats_from_json._Reader(schema).read_each(pa.array(texts, pa.string()))
    assert repr(parsed.to_pylist()) == repr(one_by_one.to_pylist())


@settings(deadline=None)
@given(st.lists(STATS, min_size=1, max_size=3), st.data())
def test_damaged_texts_never_raise_and_harm_no_neighbour(rows, data):
    texts = [json.dumps(row) for row in rows]
    which = data.draw(st.integers(0, len(texts) - 1))
    damaged = list(texts[which])
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(damaged)))
        damaged[place : place + 1] = data.draw(st.text('{}[]",:\n0x\\', max_size=2))
    before = parse(texts, COLUMNS).to_pylist()
    after = parse([*texts[:which], "".join(damaged), *texts[which + 1 :]], COLUMNS).to_pylist()
    del before[which], after[which]
    assert repr(before) == repr(after)
