from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import SchemaError
from lakebed.formats import arrow_types as at
from lakebed.spec import schema as s
from lakebed.spec.columns import column_mapping
from testkit.schemas import struct

SIMPLE = {
    s.STRING: pa.string(),
    s.LONG: pa.int64(),
    s.INTEGER: pa.int32(),
    s.SHORT: pa.int16(),
    s.BYTE: pa.int8(),
    s.FLOAT: pa.float32(),
    s.DOUBLE: pa.float64(),
    s.BOOLEAN: pa.bool_(),
    s.BINARY: pa.binary(),
    s.DATE: pa.date32(),
    s.TIMESTAMP: pa.timestamp("us", "UTC"),
    s.TIMESTAMP_NTZ: pa.timestamp("us"),
    s.VOID: pa.null(),
    s.DecimalType(10, 2): pa.decimal128(10, 2),
}


def structs(inner: st.SearchStrategy[s.DataType]) -> st.SearchStrategy[s.StructType]:
    field = st.builds(s.StructField, st.text(min_size=1, max_size=3), inner, st.booleans())
    fields = st.lists(field, max_size=3, unique_by=lambda each: each.name.lower())
    return st.builds(s.StructType, fields.map(tuple))


data_types = st.recursive(
    st.sampled_from([each for each in SIMPLE if each != s.VOID]),
    lambda inner: (
        st.builds(s.ArrayType, inner, st.booleans())
        | st.builds(s.MapType, inner, inner, st.booleans())
        | structs(inner)
    ),
    max_leaves=6,
)


@pytest.mark.parametrize(("delta", "arrow"), SIMPLE.items(), ids=map(str, SIMPLE))
def test_simple_types_have_their_arrow_twin(delta: s.DataType, arrow: pa.DataType) -> None:
    assert at.to_arrow_type(delta) == arrow
    assert at.from_arrow_type(arrow) == delta


@given(structs(data_types))
def test_any_schema_survives_the_way_through_arrow(schema: s.StructType) -> None:
    assert at.from_arrow_schema(at.to_arrow_schema(schema)) == schema


def test_a_void_column_is_nullable_in_arrow_whatever_the_schema_says() -> None:
    schema = s.StructType((s.StructField("v", s.VOID, False),))
    assert at.to_arrow_schema(schema).field("v").nullable
    assert at.to_arrow_type(s.ArrayType(s.VOID, False)) == pa.list_(pa.null())


def test_types_that_arrow_lacks_are_given_as_what_is_stored() -> None:
    variant = at.to_arrow_type(s.VARIANT)
    assert variant.names == ["metadata", "value"]
    assert [field.type for field in variant] == [pa.binary(), pa.binary()]
    assert at.to_arrow_type(s.PrimitiveType("geometry(OGC:CRS84)")) == pa.binary()
    vector = s.UserDefinedType(s.ArrayType(s.DOUBLE), {"type": "udt"})
    assert at.to_arrow_type(vector) == pa.list_(pa.float64())


def test_a_type_without_arrow_twin_is_a_schema_error() -> None:
    for kind in (s.PrimitiveType("varchar(5)"), s.MapType(s.VOID, s.LONG)):
        with pytest.raises(SchemaError, match="has no Arrow type"):
            at.to_arrow_type(kind)


@pytest.mark.parametrize(
    ("arrow", "delta"),
    [
        (pa.large_string(), s.STRING),
        (pa.string_view(), s.STRING),
        (pa.dictionary(pa.int32(), pa.string()), s.STRING),
        (pa.run_end_encoded(pa.int32(), pa.int64()), s.LONG),
        (pa.uuid(), s.BINARY),
        (pa.large_binary(), s.BINARY),
        (pa.binary_view(), s.BINARY),
        (pa.binary(16), s.BINARY),
        (pa.uint8(), s.SHORT),
        (pa.uint16(), s.INTEGER),
        (pa.uint32(), s.LONG),
        (pa.uint64(), s.DecimalType(20, 0)),
        (pa.float16(), s.FLOAT),
        (pa.date64(), s.DATE),
        (pa.timestamp("ns"), s.TIMESTAMP_NTZ),
        (pa.timestamp("s", "Europe/Berlin"), s.TIMESTAMP),
        (pa.decimal256(38, 3), s.DecimalType(38, 3)),
        (pa.large_list(pa.int8()), s.ArrayType(s.BYTE)),
        (pa.list_(pa.int8(), 3), s.ArrayType(s.BYTE)),
        (pa.list_view(pa.int8()), s.ArrayType(s.BYTE)),
    ],
    ids=str,
)
def test_other_arrow_types_become_the_narrowest_that_holds_them(
    arrow: pa.DataType, delta: s.DataType
) -> None:
    assert at.from_arrow_type(arrow) == delta


@pytest.mark.parametrize(
    "arrow",
    [
        pa.time32("s"),
        pa.duration("us"),
        pa.month_day_nano_interval(),
        pa.decimal256(50, 3),
        pa.decimal128(5, -2),
        pa.sparse_union([pa.field("x", pa.int8())]),
    ],
    ids=str,
)
def test_arrow_types_without_delta_twin_are_refused_by_column(arrow: pa.DataType) -> None:
    schema = pa.schema([pa.field("a b", pa.list_(pa.struct([("x", arrow)])))])
    with pytest.raises(SchemaError, match=r"column `a b`\.element\.x: Delta has no type"):
        at.from_arrow_schema(schema)


# --- data files --------------------------------------------------------------------------------

FILE_SCHEMA = s.StructType(
    (
        s.StructField("a", s.LONG, False),
        s.StructField("e", s.ArrayType(struct(d=s.INTEGER), False)),
        s.StructField("m", s.MapType(s.STRING, s.ArrayType(s.DATE), False)),
        s.StructField("void", s.VOID),
        s.StructField("s", struct(v=s.VOID, x=s.INTEGER)),
        s.StructField("variant", s.VARIANT),
    )
)


def parquet_file(schema: pa.Schema, rows: list[dict[str, object]]) -> pq.ParquetFile:
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), sink)
    return pq.ParquetFile(io.BytesIO(sink.getvalue()))


FILE_LINES = """
required group field_id=-1 schema {
  optional int64 field_id=-1 a;
  optional group field_id=-1 e (List) {
    repeated group field_id=-1 list {
      optional group field_id=-1 element {
        optional int32 field_id=-1 d;
      }
    }
  }
  optional group field_id=-1 m (Map) {
    repeated group field_id=-1 key_value {
      required binary field_id=-1 key (String);
      optional group field_id=-1 value (List) {
        repeated group field_id=-1 list {
          optional int32 field_id=-1 element (Date);
        }
      }
    }
  }
  optional group field_id=-1 s {
    optional int32 field_id=-1 x;
  }
  optional group field_id=-1 variant {
    required binary field_id=-1 metadata;
    required binary field_id=-1 value;
  }
}
"""


def test_data_files_have_optional_columns_and_no_void_ones() -> None:
    schema = at.parquet_schema(FILE_SCHEMA, with_field_ids=False)
    _, _, lines = str(parquet_file(schema, []).schema).partition("\n")
    assert lines.strip() == FILE_LINES.strip()


def test_ids_of_columns_elements_keys_and_values_reach_the_file() -> None:
    configuration = {column_mapping.MODE: "id", "delta.enableIcebergCompatV2": "true"}
    logical = s.without_void(FILE_SCHEMA)
    mapped, _ = column_mapping.assign_column_mapping(logical, configuration, keep_names=True)
    schema = at.parquet_schema(column_mapping.physical_schema(mapped, "id"), with_field_ids=True)
    read = parquet_file(schema, []).schema_arrow

    def number(field: pa.Field) -> int:
        return int(field.metadata[b"PARQUET:field_id"])

    ids = {field.name: column_mapping.column_id(field) for _, field in s.walk(mapped)}
    nested = {
        k: v for _, field in s.walk(mapped) for k, v in column_mapping.nested_ids(field).items()
    }
    assert {field.name: number(field) for field in read} == {
        name: ids[name] for name in logical.names
    }
    assert number(read.field("e").type.value_field) == nested["e.element"]
    assert number(read.field("e").type.value_type.field("d")) == ids["d"]
    assert number(read.field("m").type.key_field) == nested["m.key"]
    assert number(read.field("m").type.item_field) == nested["m.value"]
    assert number(read.field("m").type.item_type.value_field) == nested["m.value.element"]


def test_a_column_without_id_cannot_be_written_with_ids() -> None:
    with pytest.raises(SchemaError, match="'x' has no id"):
        at.parquet_schema(struct(x=s.LONG), with_field_ids=True)


def test_a_schema_whose_void_parts_cannot_be_left_out_has_no_data_files() -> None:
    with pytest.raises(SchemaError, match="no data can be written"):
        at.parquet_schema(struct(x=s.ArrayType(s.VOID)), with_field_ids=False)
