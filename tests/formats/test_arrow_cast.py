from __future__ import annotations

import datetime as dt
import io
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import SchemaMismatchError
from lakebed.formats.arrow_cast import cast_table
from lakebed.formats.arrow_types import parquet_schema, to_arrow_schema, to_arrow_type
from lakebed.spec import schema as s
from testkit.schemas import struct

D = s.DecimalType
UTC = dt.timezone.utc


def cast(array: pa.Array | pa.ChunkedArray, data_type: s.DataType) -> list[Any]:
    result = cast_table(pa.table({"x": array}), struct(x=data_type))
    result.validate(full=True)
    assert result.schema.equals(to_arrow_schema(struct(x=data_type)))
    return result.column("x").to_pylist()


def refused(array: pa.Array, data_type: s.DataType) -> str:
    with pytest.raises(SchemaMismatchError) as caught:
        cast(array, data_type)
    return caught.value.message


# --- single values -----------------------------------------------------------------------------

DAY, NOON = dt.date(2024, 2, 29), dt.datetime(2024, 2, 29, 12, 0, 0, 5)
SECOND = dt.datetime(1970, 1, 1, 0, 0, 1)

WIDENINGS = [
    (pa.array([-128, None, 127], pa.int8()), s.LONG, [-128, None, 127]),
    (pa.array([2**31 - 1], pa.int32()), s.LONG, [2**31 - 1]),
    (pa.array([2**31 - 1], pa.int32()), s.DOUBLE, [2.0**31 - 1]),
    (pa.array([1.5, None, float("-inf")], pa.float32()), s.DOUBLE, [1.5, None, float("-inf")]),
    (pa.array([3.4], pa.float32()), s.DOUBLE, [3.4000000953674316]),
    (pa.array([DAY, None]), s.TIMESTAMP_NTZ, [dt.datetime(2024, 2, 29), None]),
    (pa.array([-128], pa.int8()), D(4, 1), [Decimal("-128.0")]),
    (pa.array([2**31 - 1, None], pa.int32()), D(12, 2), [Decimal("2147483647.00"), None]),
    (pa.array([-(2**63)], pa.int64()), D(20, 0), [Decimal(-(2**63))]),
    (pa.array([-(2**63)], pa.int64()), D(38, 18), [Decimal(-(2**63))]),
    (pa.array([Decimal("1.23")], pa.decimal128(5, 2)), D(10, 4), [Decimal("1.2300")]),
]


@pytest.mark.parametrize(("source", "data_type", "expected"), WIDENINGS, ids=str)
def test_values_of_narrower_types_are_read_as_wider_ones(
    source: pa.Array, data_type: s.DataType, expected: list[Any]
) -> None:
    assert cast(source, data_type) == expected


SPELLINGS = [
    (pa.array(["a", None], pa.large_string()), s.STRING, ["a", None]),
    (pa.array(["a", None], pa.string_view()), s.STRING, ["a", None]),
    (pa.array(["a", None, "a"]).dictionary_encode(), s.STRING, ["a", None, "a"]),
    (pa.array(["a"], pa.large_string()).dictionary_encode(), s.STRING, ["a"]),
    (pa.array([b"a"], pa.binary()), s.STRING, ["a"]),
    (pa.array(["a"]), s.BINARY, [b"a"]),
    (pa.array([b"ab", None], pa.binary(2)), s.BINARY, [b"ab", None]),
    (pa.array([b"a"], pa.large_binary()), s.BINARY, [b"a"]),
    (pa.array([b"a"], pa.binary_view()), s.BINARY, [b"a"]),
    (pa.array([b"0" * 16], pa.uuid()), s.BINARY, [b"0" * 16]),
    (pa.array([b"wkb"]), s.PrimitiveType("geometry(OGC:CRS84)"), [b"wkb"]),
    (pa.array([5], pa.int32()), s.BYTE, [5]),
    (pa.array([255], pa.uint8()), s.SHORT, [255]),
    (pa.array([2**64 - 1], pa.uint64()), D(20, 0), [Decimal(2**64 - 1)]),
    (pa.RunEndEncodedArray.from_arrays([2, 3], [7, None]), s.LONG, [7, 7, None]),
    (pa.array([1.5]).cast(pa.float16()), s.FLOAT, [1.5]),
    (pa.array([DAY], pa.date64()), s.DATE, [DAY]),
    (pa.array([Decimal("1.20")], pa.decimal128(5, 2)), D(4, 1), [Decimal("1.2")]),
    (pa.array([Decimal("1.2")], pa.decimal256(50, 1)), D(4, 1), [Decimal("1.2")]),
    (pa.array([NOON], pa.timestamp("ns", "America/New_York")), s.TIMESTAMP,
     [NOON.replace(tzinfo=UTC)]),
    (pa.array([NOON], pa.timestamp("ns")), s.TIMESTAMP, [NOON.replace(tzinfo=UTC)]),
    (pa.array([NOON], pa.timestamp("us", "UTC")), s.TIMESTAMP_NTZ, [NOON]),
    (pa.array([1, None], pa.timestamp("s")), s.TIMESTAMP_NTZ, [SECOND, None]),
    (pa.nulls(2), s.STRING, [None, None]),
    (pa.nulls(2), struct(a=s.LONG), [None, None]),
    (pa.nulls(2), s.MapType(s.STRING, s.LONG), [None, None]),
    (pa.nulls(2, pa.string()), s.VOID, [None, None]),
]  # fmt: skip


@pytest.mark.parametrize(("source", "data_type", "expected"), SPELLINGS, ids=str)
def test_other_spellings_of_a_type_hold_the_same_values(
    source: pa.Array, data_type: s.DataType, expected: list[Any]
) -> None:
    assert cast(source, data_type) == expected


LOSSES = [
    (pa.array([300], pa.int32()), s.BYTE),
    (pa.array([2**63], pa.uint64()), s.LONG),
    (pa.array([1, 2], pa.int64()), s.DOUBLE),
    (pa.array([1], pa.int32()), s.FLOAT),
    (pa.array([1.5], pa.float64()), s.FLOAT),
    (pa.array([1.0], pa.float64()), s.LONG),
    (pa.array([1], pa.int32()), D(5, 0)),
    (pa.array([Decimal("1.23")], pa.decimal128(5, 2)), D(4, 1)),
    (pa.array([Decimal("123.2")], pa.decimal128(5, 1)), D(3, 1)),
    (pa.array([Decimal(10**37)], pa.decimal128(38, 0)), D(38, 10)),
    (pa.array([Decimal("1.0")], pa.decimal128(5, 1)), s.LONG),
    (pa.array([1], pa.timestamp("ns")), s.TIMESTAMP_NTZ),
    (pa.array([1], pa.timestamp("ns", "UTC")), s.TIMESTAMP),
    (pa.array([2**62], pa.timestamp("s")), s.TIMESTAMP),
    (pa.array([2**31 - 1], pa.int32()).cast(pa.date32()), s.TIMESTAMP_NTZ),
    (pa.array([DAY]), s.TIMESTAMP),
    (pa.array([86_400_005], pa.int64()).cast(pa.date64()), s.DATE),
    (pa.array([NOON], pa.timestamp("us", "America/New_York")), s.TIMESTAMP_NTZ),
    (pa.array([NOON], pa.timestamp("us")), s.DATE),
    (pa.array([b"\xff"]), s.STRING),
    (pa.array(["1"]), s.LONG),
    (pa.array([1]), s.STRING),
    (pa.array([True]), s.LONG),
    (pa.array([1]), s.BOOLEAN),
    (pa.array([1]), s.VOID),
    (pa.array([1]), struct(a=s.LONG)),
    (pa.array([1]), s.ArrayType(s.LONG)),
    (pa.array([1]), s.MapType(s.LONG, s.LONG)),
    (pa.array([1]), s.VARIANT),
    (pa.array([[1]]), s.LONG),
]


@pytest.mark.parametrize(("source", "data_type"), LOSSES, ids=str)
def test_values_that_would_change_are_refused_by_column(
    source: pa.Array, data_type: s.DataType
) -> None:
    assert refused(source, data_type).startswith("column x: data of type ")


def test_the_refusal_names_the_nested_column_and_the_reason() -> None:
    array = pa.array([[{"a": 300}]], pa.list_(pa.struct([("a", pa.int32())])))
    message = refused(array, s.ArrayType(struct(a=s.BYTE)))
    assert message.startswith("column x.element.a: data of type int32 cannot be taken as int8")
    assert "300" in message


def test_a_value_below_a_null_is_no_value() -> None:
    below = pa.array([300, 1], pa.int32())
    array = pa.StructArray.from_arrays([below], ["a"], mask=pa.array([True, False]))
    assert cast(array, struct(a=s.BYTE)) == [None, {"a": 1}]


# --- columns and fields ------------------------------------------------------------------------


def test_columns_are_found_in_any_case_put_in_order_and_filled_with_nulls() -> None:
    table = pa.table({"B": [1, 2], "A": ["x", "y"], "extra": [0, 0]})
    schema = struct(a=s.STRING, absent=s.DATE, b=s.LONG)
    result = cast_table(table, schema)
    assert result.to_pydict() == {"a": ["x", "y"], "absent": [None, None], "b": [1, 2]}
    assert result.schema == to_arrow_schema(schema)


def test_extra_columns_are_refused_on_demand_at_every_depth() -> None:
    schema = struct(s=struct(a=s.LONG))
    for table in (
        pa.table({"s": [{"a": 1}], "extra": [1]}),
        pa.table({"s": [{"a": 1, "extra": 1}]}),
    ):
        assert cast_table(table, schema).to_pylist() == [{"s": {"a": 1}}]
        with pytest.raises(SchemaMismatchError, match="extra"):
            cast_table(table, schema, refuse_extra=True)


def test_the_exact_name_wins_over_one_in_another_case() -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["A", "a"])
    assert cast_table(table, struct(a=s.LONG)).to_pylist() == [{"a": 2}]


@pytest.mark.parametrize("names", [["a", "a"], ["aB", "Ab"]])
def test_a_column_that_stands_twice_in_the_data_is_refused(names: list[str]) -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=names)
    with pytest.raises(SchemaMismatchError, match="appears 2 times in the data"):
        cast_table(table, struct(**{names[0].lower(): s.LONG}))


def test_columns_of_the_right_type_are_passed_on_without_a_copy() -> None:
    schema = struct(a=s.LONG, s=struct(x=s.STRING), l=s.ArrayType(s.LONG))
    table = pa.table(
        [pa.array([1, 2]), pa.array([{"x": "a"}, None]), pa.array([[1], None])],
        names=["a", "s", "l"],
    )
    result = cast_table(table, schema)
    for before, after in zip(table.columns, result.columns, strict=True):
        ours, theirs = after.chunk(0).buffers(), before.chunk(0).buffers()
        assert [b and b.address for b in ours] == [b and b.address for b in theirs]


def test_a_batch_is_taken_like_a_table() -> None:
    batch = pa.record_batch({"a": pa.array([1], pa.int32())})
    assert cast_table(batch, struct(a=s.LONG)).to_pylist() == [{"a": 1}]


def test_a_schema_without_columns_keeps_the_count_of_rows() -> None:
    result = cast_table(pa.table({"a": [1, 2, 3]}), s.StructType())
    assert (result.num_rows, result.num_columns) == (3, 0)


def test_a_table_without_chunks_stays_empty() -> None:
    empty = pa.schema([("a", pa.int32())]).empty_table()
    schema = struct(a=s.LONG, b=struct(c=s.VARIANT))
    assert cast_table(empty, schema).schema == to_arrow_schema(schema)


# --- nested ------------------------------------------------------------------------------------


def test_fields_of_structs_are_matched_by_name_and_null_structs_stay_null() -> None:
    source = pa.struct([("OLD", pa.string()), ("b", pa.int32()), ("A", pa.int8())])
    array = pa.array([{"OLD": "x", "b": 1, "A": 2}, None, {"OLD": None, "b": None, "A": 3}], source)
    assert cast(array, struct(a=s.LONG, new=s.STRING, b=s.LONG)) == [
        {"a": 2, "new": None, "b": 1},
        None,
        {"a": 3, "new": None, "b": None},
    ]


def test_a_struct_that_lost_all_its_fields_keeps_its_nulls() -> None:
    array = pa.array([{"a": 1}, None], pa.struct([("a", pa.int8())]))
    assert cast(array, struct(new=s.LONG)) == [{"new": None}, None]
    assert cast(array, s.StructType()) == [{}, None]


@pytest.mark.parametrize(
    "source",
    [
        pa.list_(pa.int8()),
        pa.large_list(pa.int8()),
        pa.list_view(pa.int8()),
        pa.large_list_view(pa.int8()),
    ],
    ids=str,
)
def test_lists_of_every_layout_are_taken_also_from_the_middle(source: pa.DataType) -> None:
    rows = [[9], [1, 2], None, [], [3, None], [9]]
    assert cast(pa.array(rows, source).slice(1, 4), s.ArrayType(s.LONG)) == rows[1:5]
    assert cast(pa.array(rows, source).slice(2, 0), s.ArrayType(s.LONG)) == []


def test_lists_of_one_size_are_taken_also_from_the_middle() -> None:
    rows = [[9, 9], [1, 2], None, [3, None]]
    array = pa.array(rows, pa.list_(pa.int8(), 2)).slice(1)
    assert cast(array, s.ArrayType(s.LONG)) == rows[1:]


def test_maps_are_taken_also_from_the_middle() -> None:
    rows = [[("z", {"x": 9})], [("a", {"x": 1}), ("b", None)], None, []]
    source = pa.map_(pa.large_string(), pa.struct([("x", pa.int8())]))
    target = s.MapType(s.STRING, struct(y=s.STRING, x=s.LONG))
    assert cast(pa.array(rows, source).slice(1), target) == [
        [("a", {"y": None, "x": 1}), ("b", None)],
        None,
        [],
    ]
    assert cast(pa.array(rows, source).slice(1, 0), target) == []


def test_a_user_defined_type_is_taken_as_what_it_stores() -> None:
    vector = s.UserDefinedType(s.ArrayType(s.DOUBLE), {"type": "udt"})
    assert cast(pa.array([[1.5]], pa.list_(pa.float32())), vector) == [[1.5]]


def test_strings_beyond_32_bit_offsets_are_split(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lakebed.formats.arrow_cast._MAX_BYTES", 100)
    rows = ["x" * 30] * 20
    table = pa.table({"x": pa.array(rows, pa.large_string())})
    result = cast_table(table, struct(x=s.STRING)).column("x")
    assert result.to_pylist() == rows
    assert all(chunk.nbytes <= 200 for chunk in result.chunks)


# --- variants ----------------------------------------------------------------------------------

VARIANT_ROWS = [{"value": b"v", "metadata": b"m"}, None]


def test_the_parts_of_a_variant_are_put_in_order() -> None:
    source = pa.struct([("value", pa.large_binary()), ("metadata", pa.binary())])
    assert cast(pa.array(VARIANT_ROWS, source), s.VARIANT) == VARIANT_ROWS


@pytest.mark.parametrize(
    "rows",
    [
        [{"value": b"v"}],
        [{"value": b"v", "metadata": b"m", "typed_value": b"t"}],
        [{"value": None, "metadata": b"m"}],
        [{"value": 1, "metadata": b"m"}],
    ],
)
def test_what_is_no_whole_variant_is_refused(rows: list[Any]) -> None:
    assert refused(pa.array(rows), s.VARIANT).startswith("column x: data of type ")


@pytest.mark.parametrize("data_type", [s.VARIANT, struct(v=s.VARIANT)], ids=str)
@pytest.mark.parametrize("given", [True, False])
def test_null_variants_can_be_written_to_files(data_type: s.DataType, given: bool) -> None:
    rows: list[Any] = [{"x": None, "id": 1}, {"x": None, "id": 2}]
    if given:
        value = VARIANT_ROWS[0]
        rows[0]["x"] = value if data_type == s.VARIANT else {"v": value}
    kind = pa.struct([("metadata", pa.binary()), ("value", pa.binary())])
    source = kind if data_type == s.VARIANT else pa.struct([("v", kind)])
    columns = [("x", source), ("id", pa.int64())] if given else [("id", pa.int64())]
    schema = struct(x=data_type, id=s.LONG)
    table = cast_table(pa.Table.from_pylist(rows, schema=pa.schema(columns)), schema)
    sink = io.BytesIO()
    with pq.ParquetWriter(sink, parquet_schema(schema, with_field_ids=False)) as writer:
        writer.write_table(table)
    again = cast_table(pq.read_table(io.BytesIO(sink.getvalue())), schema)
    assert again.to_pylist() == rows
    with pq.ParquetWriter(io.BytesIO(), parquet_schema(schema, with_field_ids=False)) as writer:
        writer.write_table(again)


# --- any table ---------------------------------------------------------------------------------

LEAVES: dict[s.DataType, st.SearchStrategy[Any]] = {
    s.LONG: st.integers(-128, 127),
    s.DOUBLE: st.floats(width=32, allow_nan=False),
    s.STRING: st.text("aß ", max_size=3),
    s.BINARY: st.binary(max_size=3),
    s.BOOLEAN: st.booleans(),
    s.DATE: st.dates(),
    s.TIMESTAMP: st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1)).map(
        lambda value: value.replace(tzinfo=UTC)
    ),
    s.TIMESTAMP_NTZ: st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1)),
    D(10, 4): st.decimals(-999, 999, places=2),
}
# How a column of the type may come: each type holds all values of the strategy above.
DISGUISES: dict[s.DataType, list[pa.DataType]] = {
    s.LONG: [pa.int64(), pa.int32(), pa.int8()],
    s.DOUBLE: [pa.float64(), pa.float32()],
    s.STRING: [pa.string(), pa.large_string(), pa.string_view()],
    s.BINARY: [pa.binary(), pa.large_binary()],
    s.BOOLEAN: [pa.bool_()],
    s.DATE: [pa.date32()],
    s.TIMESTAMP: [pa.timestamp("us", "UTC"), pa.timestamp("ns", "Asia/Tokyo")],
    s.TIMESTAMP_NTZ: [pa.timestamp("us"), pa.timestamp("ns")],
    D(10, 4): [pa.decimal128(10, 4), pa.decimal128(5, 2), pa.decimal256(40, 3)],
}
shapes = st.recursive(
    st.sampled_from(list(LEAVES)),
    lambda inner: (
        st.builds(s.ArrayType, inner)
        | st.builds(s.MapType, st.just(s.STRING), inner)
        | st.dictionaries(st.sampled_from("abcd"), inner, min_size=1, max_size=3).map(
            lambda types: struct(**types)
        )
    ),
    max_leaves=5,
)


def values(data_type: s.DataType) -> st.SearchStrategy[Any]:
    if isinstance(data_type, s.ArrayType):
        known: st.SearchStrategy[Any] = st.lists(values(data_type.element_type), max_size=3)
    elif isinstance(data_type, s.MapType):
        keys = LEAVES[s.STRING]
        known = st.dictionaries(keys, values(data_type.value_type), max_size=3).map(
            lambda found: list(found.items())
        )
    elif isinstance(data_type, s.StructType):
        known = st.fixed_dictionaries({f.name: values(f.data_type) for f in data_type})
    else:
        known = LEAVES[data_type]
    return st.none() | known


def disguised(draw: Any, data_type: s.DataType) -> pa.DataType:
    """Another Arrow type for the same values: names in capitals, fields shuffled, one more."""
    if isinstance(data_type, s.ArrayType):
        make = draw(st.sampled_from([pa.list_, pa.large_list]))
        return make(disguised(draw, data_type.element_type))
    if isinstance(data_type, s.MapType):
        return pa.map_(disguised(draw, s.STRING), disguised(draw, data_type.value_type))
    if isinstance(data_type, s.StructType):
        fields = [(f.name.upper(), disguised(draw, f.data_type)) for f in data_type]
        return pa.struct(draw(st.permutations([*fields, ("OTHER", pa.int8())])))
    return draw(st.sampled_from(DISGUISES[data_type]))


def renamed(value: Any, data_type: s.DataType) -> Any:
    if value is None:
        return None
    if isinstance(data_type, s.ArrayType):
        return [renamed(each, data_type.element_type) for each in value]
    if isinstance(data_type, s.MapType):
        return [(key, renamed(each, data_type.value_type)) for key, each in value]
    if isinstance(data_type, s.StructType):
        return {f.name.upper(): renamed(value[f.name], f.data_type) for f in data_type}
    return value


@st.composite
def columns(draw: Any) -> tuple[s.DataType, list[Any], pa.ChunkedArray]:
    data_type = draw(shapes)
    rows = draw(st.lists(values(data_type), max_size=6))
    kind = disguised(draw, data_type)
    whole = pa.array([renamed(row, data_type) for row in rows], kind)
    cut = draw(st.integers(0, len(rows)))
    start = draw(st.integers(0, cut))
    column = pa.chunked_array([whole.slice(start, cut - start), whole.slice(cut)], type=kind)
    return data_type, rows[start:], column


@given(columns())
def test_any_nested_column_keeps_its_values_through_a_cast(
    column: tuple[s.DataType, list[Any], pa.ChunkedArray],
) -> None:
    data_type, rows, array = column
    assert cast(array, data_type) == rows


@given(columns())
def test_casting_twice_changes_nothing(
    column: tuple[s.DataType, list[Any], pa.ChunkedArray],
) -> None:
    data_type, _, array = column
    once = cast_table(pa.table({"x": array}), struct(x=data_type))
    twice = cast_table(once, struct(x=data_type))
    assert twice.equals(once)
    assert to_arrow_type(data_type) == twice.schema.field("x").type
