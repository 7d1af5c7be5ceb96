"""Statistics from structs to JSON text."""

from __future__ import annotations

import json
import math
from datetime import date, datetime, timezone
from decimal import Decimal

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.formats.statistics.stats_from_json import parse_stats
from lakebed.formats.statistics.stats_to_json import write_stats
from lakebed.spec.schema import (
    DATE,
    DOUBLE,
    FLOAT,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DecimalType,
)
from lakebed.spec.stats import stats_schema
from testkit.schemas import struct

UTC = timezone.utc


def test_text_is_compact_and_in_the_order_of_the_fields():
    # The type is given because older versions of pyarrow sort the fields that they infer.
    bounds = pa.struct([("a", pa.int64()), ("s", pa.struct([("b", pa.string())]))])
    counts = pa.struct([("a", pa.int64()), ("s", pa.struct([("b", pa.int64())]))])
    kind = pa.struct(
        [
            ("numRecords", pa.int64()),
            ("minValues", bounds),
            ("maxValues", bounds),
            ("nullCount", counts),
            ("tightBounds", pa.bool_()),
        ]
    )
    row = {
        "numRecords": 3,
        "minValues": {"a": 1, "s": {"b": "x"}},
        "maxValues": {"a": None, "s": {"b": 'y"\n'}},
        "nullCount": {"a": 0, "s": {"b": None}},
        "tightBounds": True,
    }
    stats = pa.array([row], kind)
    expected = (
        '{"numRecords":3,"minValues":{"a":1,"s":{"b":"x"}},"maxValues":{"s":{"b":"y\\"\\n"}},'
        '"nullCount":{"a":0,"s":{}},"tightBounds":true}'
    )
    assert write_stats(stats).to_pylist() == [expected]


def test_null_rows_have_no_text_and_null_parts_are_empty_objects():
    kind = pa.struct(
        [
            ("numRecords", pa.int64()),
            ("minValues", pa.struct([("a", pa.struct([("b", pa.int8())]))])),
        ]
    )
    stats = pa.array(
        [None, {"numRecords": None, "minValues": None}, {"minValues": {"a": None}}], kind
    )
    assert write_stats(stats).to_pylist() == [None, '{"minValues":{}}', '{"minValues":{}}']
    assert write_stats(pa.chunked_array([stats[1:2], stats[:1]])).to_pylist() == [
        '{"minValues":{}}',
        None,
    ]
    assert write_stats(pa.chunked_array([], kind)).to_pylist() == []


def test_column_of_nulls_without_a_type_has_no_texts():
    assert write_stats(pa.chunked_array([pa.nulls(2)])).to_pylist() == [None, None]


def test_names_of_columns_are_escaped():
    stats = pa.array([{"minValues": {'a"b\\': 1}}])
    assert json.loads(write_stats(stats)[0].as_py()) == {"minValues": {'a"b\\': 1}}


def test_values_that_json_cannot_hold_are_left_out():
    kinds = {
        "nan": (math.nan, pa.float64()),
        "inf": (math.inf, pa.float32()),
        "late": (2_932_897, pa.date32()),
        "last": (2**63 - 1, pa.timestamp("us")),
        "first": (-(2**63), pa.timestamp("us", tz="UTC")),
        "binary": (b"x", pa.binary()),
        "int96": (5, pa.timestamp("ns")),
        "ok": (5, pa.int8()),
    }
    storage = {"late": pa.int32(), "last": pa.int64(), "first": pa.int64()}
    arrays = [
        pa.array([value], storage.get(name, kind)).cast(kind)
        for name, (value, kind) in kinds.items()
    ]
    bounds = pa.StructArray.from_arrays(arrays, names=list(kinds))
    stats = pa.StructArray.from_arrays([bounds], names=["minValues"])
    assert write_stats(stats).to_pylist() == ['{"minValues":{"ok":5}}']


def test_timestamps_are_cut_down_to_milliseconds_with_z_only_in_utc():
    stats = pa.array(
        [
            {
                "z": datetime(1969, 12, 31, 23, 59, 59, 998_999, UTC),
                "n": datetime(2020, 1, 2, 3, 4, 5, 678_900),
            }
        ],
        pa.struct([("z", pa.timestamp("us", tz="UTC")), ("n", pa.timestamp("us"))]),
    )
    text = '{"z":"1969-12-31T23:59:59.998Z","n":"2020-01-02T03:04:05.678"}'
    assert write_stats(stats).to_pylist() == [text]


def test_decimals_keep_all_their_digits():
    value = Decimal("-1234567890123456789012345678.0123456789")
    stats = pa.array([{"d": value}], pa.struct([("d", pa.decimal128(38, 10))]))
    assert write_stats(stats).to_pylist() == [f'{{"d":{value}}}']


COLUMNS = struct(
    i=LONG,
    d=DOUBLE,
    f=FLOAT,
    s=STRING,
    m=DecimalType(30, 4),
    n=struct(y=DATE, t=TIMESTAMP, l=TIMESTAMP_NTZ),
)
TIMES = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31)).map(
    lambda time: time.replace(microsecond=time.microsecond // 1000 * 1000)
)
BOUNDS = st.fixed_dictionaries(
    {},
    optional={
        "i": st.integers(-(2**63), 2**63 - 1),
        "d": st.floats(allow_nan=False, allow_infinity=False),
        "f": st.floats(width=32, allow_nan=False, allow_infinity=False),
        "s": st.text(max_size=8),
        "m": st.decimals(-(10**20), 10**20, places=4),
        "n": st.fixed_dictionaries(
            {},
            optional={
                "y": st.dates(date(1, 1, 1)),
                "t": TIMES.map(lambda time: time.replace(tzinfo=UTC)),
                "l": TIMES,
            },
        ),
    },
)
COUNTS = st.fixed_dictionaries({}, optional={"i": st.integers(0, 9), "s": st.integers(0, 9)})
ROWS = st.fixed_dictionaries(
    {"minValues": BOUNDS, "maxValues": BOUNDS, "nullCount": COUNTS},
    optional={"numRecords": st.integers(0, 2**40), "tightBounds": st.booleans()},
)


@settings(deadline=None)
@given(st.lists(ROWS, max_size=5))
def test_what_is_written_is_read_back_the_same(rows):
    schema = stats_schema(COLUMNS)
    kind = parse_stats(pa.array([], pa.string()), schema).type
    stats = pa.array(rows, kind)
    texts = write_stats(stats)
    for text in texts.to_pylist():
        json.loads(text)
    again = parse_stats(texts, schema)
    # Empty structs and null ones are the same to those who ask for a column.
    assert write_stats(again).to_pylist() == texts.to_pylist()
    for part in ("minValues", "maxValues", "nullCount"):
        for column in kind.field(part).type:
            if not pa.types.is_struct(column.type):
                before, after = (each.field(part).field(column.name) for each in (stats, again))
                assert before.to_pylist() == after.to_pylist()
