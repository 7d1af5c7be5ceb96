"""Statistics of new files, from Parquet footers and from rows in memory: always bounds."""

from __future__ import annotations

import json
import math
from datetime import date, datetime, timezone
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.formats.arrow_types import to_arrow_schema
from lakebed.formats.statistics.file_statistics import FileColumns
from lakebed.formats.statistics.footer_stats import collect, collect_table
from lakebed.spec.properties import TableProperties
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
    VARIANT,
    VOID,
    ArrayType,
    DecimalType,
    MapType,
    StructField,
    StructType,
    parse_schema,
)
from lakebed.spec.stats import leaves
from testkit.schemas import struct
from testkit.tables.golden_tables import GOLDEN, needs_golden

UTC = timezone.utc


def footer(table: pa.Table, **options) -> pq.FileMetaData:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, **options)
    return pq.read_metadata(pa.BufferReader(sink.getvalue()))


class Footer:
    """A footer as another writer would have made it."""

    def __init__(self, metadata: pq.FileMetaData, created_by: str | None) -> None:
        self._metadata = metadata
        self.created_by = created_by

    def __getattr__(self, name):
        return getattr(self._metadata, name)


def both(table: pa.Table, columns: StructType, **options) -> list[dict]:
    texts = [collect(footer(table), columns, **options), collect_table(table, columns, **options)]
    return [json.loads(text) for text in texts]


def one_column(values: pa.Array, kind) -> list[dict]:
    return both(pa.table({"x": values}), struct(x=kind))


# --- what is in the statistics ------------------------------------------------------------------


def test_text_has_the_parts_in_the_order_of_delta_spark():
    table = pa.table({"a": [3, 1, None], "s": ["x", "y", "z"]})
    columns = struct(a=LONG, s=STRING)
    expected = (
        '{"numRecords":3,"minValues":{"a":1,"s":"x"},"maxValues":{"a":3,"s":"z"},'
        '"nullCount":{"a":1,"s":0}}'
    )
    assert collect(footer(table), columns) == collect_table(table, columns) == expected
    tight = expected[:-1] + ',"tightBounds":true}'
    assert collect(footer(table), columns, tight_bounds=True) == tight
    assert collect_table(table, columns, tight_bounds=True) == tight


def test_only_the_asked_columns_are_in_it():
    table = pa.table({"a": [1], "b": [2]})
    for stats in both(table, struct(b=LONG)):
        assert stats["minValues"] == {"b": 2}
        assert stats["nullCount"] == {"b": 0}


def test_no_rows_no_bounds():
    table = pa.table({"a": pa.array([], pa.int64())})
    for stats in both(table, struct(a=LONG)):
        assert stats == {"numRecords": 0, "minValues": {}, "maxValues": {}, "nullCount": {"a": 0}}


def test_columns_that_the_file_lacks_are_null_in_every_row():
    table = pa.table({"a": [1, 2], "s": [{"x": 1}, None]})
    columns = struct(a=LONG, gone=STRING, s=struct(x=LONG, gone=LONG), t=struct(y=DATE))
    for stats in both(table, columns):
        counts = {"a": 0, "gone": 2, "s": {"x": 1, "gone": 2}, "t": {"y": 2}}
        assert stats["nullCount"] == counts
        assert stats["minValues"] == {"a": 1, "s": {"x": 1}}


def test_nested_leaves_are_found_among_arrays_maps_and_names_with_dots():
    table = pa.table(
        {
            "l": pa.array(
                [[{"i": 1, "j": [2]}], None],
                pa.list_(pa.struct([("i", pa.int64()), ("j", pa.list_(pa.int8()))])),
            ),
            "m": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64())),
            "s.t": pa.array([{"a.b": 5, "c": {"d": "x"}}, None]),
            "s": pa.array([{"t": {"a": 6}}, {"t": None}]),
            "last": [7, 8],
        }
    )
    columns = StructType(
        (
            StructField("l", ArrayType(struct(i=LONG, j=ArrayType(BYTE)))),
            StructField("m", MapType(STRING, LONG)),
            StructField(
                "s.t", StructType((StructField("a.b", LONG), StructField("c", struct(d=STRING))))
            ),
            StructField("s", struct(t=struct(a=LONG))),
            StructField("last", LONG),
        )
    )
    from_footer, from_rows = both(table, columns)
    for stats in (from_footer, from_rows):
        assert stats["minValues"] == {
            "s.t": {"a.b": 5, "c": {"d": "x"}},
            "s": {"t": {"a": 6}},
            "last": 7,
        }
        assert stats["nullCount"]["s.t"] == {"a.b": 1, "c": {"d": 1}}
        assert stats["nullCount"]["s"] == {"t": {"a": 1}}
    # A footer counts elements, not arrays.
    assert "l" not in from_footer["nullCount"]
    assert "m" not in from_footer["nullCount"]
    assert (from_rows["nullCount"]["l"], from_rows["nullCount"]["m"]) == (1, 1)


def test_nulls_of_variants_are_counted():
    parts = pa.struct(
        [pa.field("metadata", pa.binary(), False), pa.field("value", pa.binary(), False)]
    )
    values = pa.array([{"metadata": b"\1", "value": b"\2"}, None, None], parts)
    for stats in both(pa.table({"v": values}), struct(v=VARIANT)):
        assert stats["nullCount"] == {"v": 2}
        assert stats["minValues"] == {}


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (BINARY, pa.array([b"a", b"b"])),
        (BOOLEAN, pa.array([True, False])),
        (ArrayType(LONG), pa.array([[1], [2]])),
        (VOID, pa.nulls(2)),
    ],
)
def test_types_without_order_have_no_bounds(kind, values):
    for stats in one_column(values, kind):
        assert stats["minValues"] == stats["maxValues"] == {}


@pytest.mark.parametrize(
    ("kind", "values", "low", "high"),
    [
        (BYTE, pa.array([-1, 5], pa.int8()), -1, 5),
        (LONG, pa.array([-(2**63), 2**63 - 1]), -(2**63), 2**63 - 1),
        (LONG, pa.array([-1, 5], pa.int32()), -1, 5),
        (DATE, pa.array([date(1, 1, 1), date(9999, 12, 31)]), "0001-01-01", "9999-12-31"),
        (
            TIMESTAMP,
            pa.array([-1, 1_577_836_800_123_999], pa.timestamp("us", tz="UTC")),
            "1969-12-31T23:59:59.999Z",
            "2020-01-01T00:00:00.123Z",
        ),
        (
            TIMESTAMP_NTZ,
            pa.array([-1, 1_577_836_800_123_999_999], pa.timestamp("ns")),
            "1969-12-31T23:59:59.999",
            "2020-01-01T00:00:00.123",
        ),
        (STRING, pa.array(["b" * 40, "c" * 40]), "b" * 32, "c" * 32 + "\x7f"),
        (STRING, pa.array(["x", "y"]).dictionary_encode(), "x", "y"),
        (STRING, pa.array(["x", "y"], pa.large_string()), "x", "y"),
    ],
)
def test_bounds_of_each_type_are_written_as_delta_spark_does(kind, values, low, high):
    for stats in one_column(values, kind):
        assert stats["minValues"] == {"x": low}
        assert stats["maxValues"] == {"x": high}


@pytest.mark.parametrize("precision", [5, 15, 30, 38])
def test_decimals_are_written_with_all_their_digits(precision):
    kind = DecimalType(precision, 2)
    high = Decimal((0, (9,) * precision, -2))
    table = pa.table({"x": pa.array([high, high.copy_negate()], pa.decimal128(precision, 2))})
    for text in (collect(footer(table), struct(x=kind)), collect_table(table, struct(x=kind))):
        assert f'"maxValues":{{"x":{high:f}}}' in text
        assert f'"minValues":{{"x":-{high:f}}}' in text


def test_decimals_stored_as_integers_are_read():
    table = pa.table({"x": pa.array([Decimal("-1.25"), Decimal("3.50")], pa.decimal128(9, 2))})
    metadata = footer(table, store_decimal_as_integer=True)
    assert metadata.row_group(0).column(0).physical_type == "INT32"
    stats = json.loads(collect(metadata, struct(x=DecimalType(9, 2))))
    assert (stats["minValues"], stats["maxValues"]) == ({"x": -1.25}, {"x": 3.5})


def test_string_prefix_length_of_the_table_is_respected():
    properties = TableProperties({"delta.dataSkippingStringPrefixLength": "3"})
    table = pa.table({"x": ["abcdef"]})
    for text in (
        collect(footer(table), struct(x=STRING), properties),
        collect_table(table, struct(x=STRING), properties),
    ):
        stats = json.loads(text)
        assert (stats["minValues"], stats["maxValues"]) == ({"x": "abc"}, {"x": "abc\x7f"})


def test_years_outside_1_to_9999_are_left_out():
    values = pa.array([0, 2**62], pa.int64()).cast(pa.timestamp("us"))
    for stats in one_column(values, TIMESTAMP_NTZ):
        assert stats["minValues"] == {"x": "1970-01-01T00:00:00.000"}
        assert stats["maxValues"] == {}


# --- floating point -----------------------------------------------------------------------------


def test_maximum_beside_nan_is_unknown():
    table = pa.table({"x": [1.0, math.nan, 2.0]})
    columns = struct(x=DOUBLE)
    for text in (
        collect(footer(table), columns),
        collect(footer(table), columns, data=table),
        collect_table(table, columns),
    ):
        stats = json.loads(text)
        assert stats["minValues"] == {"x": 1.0}
        assert stats["maxValues"] == {}
        assert stats["nullCount"] == {"x": 0}


def test_maximum_without_nan_is_known_if_the_writer_or_the_rows_show_it():
    table = pa.table({"x": [1.0, None, 2.0], "s": [{"y": 1.5}, {"y": 2.5}, None]})
    columns = struct(x=DOUBLE, s=struct(y=DOUBLE))
    known = {"x": 2.0, "s": {"y": 2.5}}

    def maximums(text):
        return json.loads(text)["maxValues"]

    assert maximums(collect(footer(table), columns)) == {}
    assert maximums(collect(footer(table), columns, data=table)) == known
    assert maximums(collect_table(table, columns)) == known
    for writer in ("parquet-mr version 1.15.2 (build x)", "parquet-cpp", None):
        other = Footer(footer(table), writer)
        expected = known if writer is not None and "mr" in writer else {}
        assert maximums(collect(other, columns)) == expected


def test_nothing_but_nan_has_no_bounds():
    for stats in one_column(pa.array([math.nan, None]), DOUBLE):
        assert stats["minValues"] == stats["maxValues"] == {}
        assert stats["nullCount"] == {"x": 1}


def test_infinities_are_left_out():
    table = pa.table({"x": pa.array([-math.inf, 1.0, math.inf], pa.float32())})
    for stats in (
        json.loads(collect(footer(table), struct(x=FLOAT), data=table)),
        json.loads(collect_table(table, struct(x=FLOAT))),
    ):
        assert stats["minValues"] == stats["maxValues"] == {}


def test_zeros_of_either_sign_are_within():
    table = pa.table({"x": [-0.0, 0.0]})
    text = collect_table(table, struct(x=DOUBLE))
    assert '"minValues":{"x":-0.0},"maxValues":{"x":0.0}' in text


# --- several row groups, missing statistics -----------------------------------------------------


def test_row_groups_are_merged_and_those_of_nulls_passed_over():
    table = pa.table({"x": [5, None, None, None, 2, 9], "s": ["e", "é", None, None, "b", "z"]})
    metadata = footer(table, row_group_size=2)
    assert metadata.num_row_groups == 3
    stats = json.loads(collect(metadata, struct(x=LONG, s=STRING)))
    assert stats["minValues"] == {"x": 2, "s": "b"}
    assert stats["maxValues"] == {"x": 9, "s": "é"}
    assert stats["nullCount"] == {"x": 3, "s": 2}


def test_footer_without_statistics_gives_the_number_of_records():
    table = pa.table({"x": [1, 2]})
    stats = json.loads(collect(footer(table, write_statistics=False), struct(x=LONG)))
    assert stats == {"numRecords": 2, "minValues": {}, "maxValues": {}, "nullCount": {}}


def test_values_too_long_for_a_footer_leave_no_bounds():
    table = pa.table({"x": ["a", "b" * 10_000]})
    stats = json.loads(collect(footer(table, row_group_size=1), struct(x=STRING)))
    assert stats["minValues"] == stats["maxValues"] == {}
    assert stats["nullCount"] == {"x": 0}


def test_int96_has_no_bounds():
    values = pa.array([datetime(2020, 1, 1)], pa.timestamp("ns"))
    metadata = footer(pa.table({"x": values}), use_deprecated_int96_timestamps=True)
    assert metadata.row_group(0).column(0).physical_type == "INT96"
    stats = json.loads(collect(metadata, struct(x=TIMESTAMP)))
    assert stats["minValues"] == stats["maxValues"] == {}


def test_file_of_another_type_has_no_bounds():
    for values, kind in (
        (pa.array(["1"]), LONG),
        (pa.array([1]), STRING),
        (pa.array([1]), DATE),
        (pa.array([b"x"]), STRING),
        (pa.array([1.5]), DecimalType(9, 2)),
    ):
        stats = json.loads(collect(footer(pa.table({"x": values})), struct(x=kind)))
        assert stats["minValues"] == stats["maxValues"] == {}


def test_file_of_a_narrower_type_gives_bounds_of_the_wider():
    table = pa.table({"d": pa.array([date(2020, 1, 1)]), "i": pa.array([7], pa.int32())})
    columns = struct(d=TIMESTAMP_NTZ, i=DecimalType(12, 2))
    stats = json.loads(collect(footer(table), columns))
    assert stats["minValues"] == {"d": "2020-01-01T00:00:00.000", "i": 7}


class _Cut:
    """A chunk whose writer has cut its texts in the middle of a character."""

    def __init__(self, low: bytes, high: bytes) -> None:
        self.statistics, self.physical_type = self, "BYTE_ARRAY"
        self.min_raw, self.max_raw = low, high
        self.has_min_max, self.has_null_count, self.null_count = True, True, 0


def test_texts_cut_inside_a_character_are_shortened_or_given_up():
    table = pa.table({"x": ["aé", "bé"]})
    metadata = footer(table)
    chunk = _Cut("aé".encode()[:-1], "bé".encode()[:-1] + b"\xaa")

    class Group:
        num_rows = 2

        def column(self, _index):
            return chunk

    other = Footer(metadata, metadata.created_by)
    other.row_group = lambda _index: Group()
    stats = json.loads(collect(other, struct(x=STRING)))
    assert stats["minValues"] == {"x": "a"}
    assert stats["maxValues"] == {"x": "bê"}
    chunk.max_raw = b"b\xc4"
    assert json.loads(collect(other, struct(x=STRING)))["maxValues"] == {}


# --- soundness ---------------------------------------------------------------------------------

COLUMNS = struct(
    i=LONG,
    b=BYTE,
    d=DOUBLE,
    f=FLOAT,
    s=STRING,
    m=DecimalType(38, 12),
    n=struct(y=DATE, t=TIMESTAMP, l=TIMESTAMP_NTZ),
)
TIMES = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31))
ROW = st.fixed_dictionaries(
    {
        "i": st.none() | st.integers(-(2**63), 2**63 - 1),
        "b": st.none() | st.integers(-128, 127),
        "d": st.none() | st.floats(),
        "f": st.none() | st.floats(width=32),
        "s": st.none()
        | st.text(max_size=3)
        | st.text(st.sampled_from("a~\x7fé\U0010ffff"), max_size=80),
        "m": st.none() | st.decimals(-(10**25), 10**25, places=12),
        "n": st.none()
        | st.fixed_dictionaries(
            {
                "y": st.none() | st.dates(),
                "t": st.none() | TIMES.map(lambda time: time.replace(tzinfo=UTC)),
                "l": st.none() | TIMES,
            }
        ),
    }
)


@settings(deadline=None)
@given(st.lists(ROW, max_size=8), st.integers(1, 4))
def test_statistics_bound_the_rows_as_a_reader_sees_them(rows, group_size):
    table = pa.Table.from_pylist(rows, schema=to_arrow_schema(COLUMNS))
    metadata = footer(table, row_group_size=group_size)
    texts = [
        collect(metadata, COLUMNS),
        collect(metadata, COLUMNS, data=table),
        collect_table(table, COLUMNS),
    ]
    files = pa.table({"stats": texts})
    columns = FileColumns(files, COLUMNS)
    assert columns.num_records().to_pylist() == [len(rows)] * 3
    for path, _ in leaves(COLUMNS):
        check_bounds(columns, path, value_at(table, path))


def value_at(table: pa.Table, path) -> pa.ChunkedArray:
    values = table.column(path[0])
    for step in path[1:]:
        values = pc.struct_field(values, step)
    return values


def check_bounds(columns: FileColumns, path, values: pa.ChunkedArray) -> None:
    assert set(columns.null_count(path).to_pylist()) == {values.null_count}
    lows, highs = columns.minimum(path), columns.maximum(path)
    has_nan = pa.types.is_floating(values.type) and pc.any(pc.is_nan(values)).as_py()
    numbers = values.filter(pc.invert(pc.is_nan(values))) if has_nan else values
    for low, high in zip(lows, highs, strict=True):
        if low.is_valid:
            assert pc.all(pc.less_equal(low, numbers)).as_py() is not False
        if high.is_valid:
            assert not has_nan
            assert pc.all(pc.greater_equal(high, numbers)).as_py() is not False


# --- files that other implementations wrote -----------------------------------------------------

TABLES = GOLDEN / "tables"


@needs_golden
def test_footers_of_the_golden_tables_agree_with_their_statistics():
    compared = 0
    for log in sorted(TABLES.glob("*/*/_delta_log/00000000000000000000.json")):
        actions = [json.loads(line) for line in log.read_text().splitlines() if line.strip()]
        metadata = next((a["metaData"] for a in actions if "metaData" in a), {})
        if "schemaString" not in metadata:
            continue
        partitions = metadata["partitionColumns"]
        schema = parse_schema(metadata["schemaString"])
        schema = StructType(tuple(f for f in schema if f.name not in partitions))
        for add in [a["add"] for a in actions if "add" in a][:3]:
            file = log.parent.parent / add["path"]
            if add.get("stats") and file.is_file():
                compared += compare(pq.read_metadata(file), schema, json.loads(add["stats"]))
    assert compared > 100


def compare(metadata: pq.FileMetaData, schema: StructType, theirs: dict) -> int:
    ours = json.loads(collect(metadata, schema))
    assert ours["numRecords"] == theirs["numRecords"]
    found = 0
    for path, field in leaves(schema):
        for part, sign in (("minValues", 1), ("maxValues", -1)):
            mine, other = (at(stats.get(part), path) for stats in (ours, theirs))
            exact = field.data_type in (LONG, INTEGER, BYTE, DATE, STRING)
            if exact and mine is not None and other is not None:
                # Some tables were given wider bounds on purpose.
                assert other <= mine if sign == 1 else other >= mine
                found += mine == other
    return found


def at(stats, path):
    for step in path:
        stats = stats.get(step) if isinstance(stats, dict) else None
    return stats
