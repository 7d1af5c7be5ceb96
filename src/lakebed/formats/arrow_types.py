"""Delta types as Arrow types and back.

PROTOCOL: Delta Data Type to Parquet Type Mappings, Variant data in Parquet, Void Type.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from lakebed.errors import SchemaError
from lakebed.spec.columns.column_mapping import column_id, nested_ids
from lakebed.spec.columns.schema_validation import validate_void
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
    MapType,
    Path,
    PrimitiveType,
    StructField,
    StructType,
    UserDefinedType,
    render_path,
    without_void,
)

FIELD_ID = "PARQUET:field_id"


# --- types -------------------------------------------------------------------------------------


def to_arrow_type(data_type: DataType) -> pa.DataType:
    if isinstance(data_type, StructType):
        return pa.struct(list(to_arrow_schema(data_type)))
    if isinstance(data_type, ArrayType):
        return pa.list_(_arrow_field("element", data_type.element_type, data_type.contains_null))
    if isinstance(data_type, MapType):
        key = to_arrow_type(data_type.key_type)
        if pa.types.is_null(key):
            raise SchemaError(f"the type {data_type} has no Arrow type: keys cannot be null")
        value = _arrow_field("value", data_type.value_type, data_type.value_contains_null)
        return pa.map_(key, value)
    return _to_arrow_leaf(data_type)


def to_arrow_schema(schema: StructType) -> pa.Schema:
    """Names, types and nullability; column metadata stays in the Delta schema."""
    return pa.schema(
        [_arrow_field(each.name, each.data_type, each.nullable) for each in schema.fields]
    )


def from_arrow_schema(schema: pa.Schema) -> StructType:
    """The narrowest Delta schema that holds such data; a column without one is an error."""
    return StructType(tuple(_from_arrow_field(each, ()) for each in schema))


def from_arrow_type(kind: pa.DataType, path: Path = ()) -> DataType:
    """The Delta type; `path` is the column, for the error message."""
    kind = _undecorated(kind)
    types = pa.types
    if types.is_struct(kind):
        return StructType(tuple(_from_arrow_field(each, path) for each in kind))
    if types.is_map(kind):
        key = from_arrow_type(kind.key_type, (*path, "key"))
        value = from_arrow_type(kind.item_type, (*path, "value"))
        return MapType(key, value, kind.item_field.nullable)
    if is_list(kind):
        element = from_arrow_type(kind.value_type, (*path, "element"))
        return ArrayType(element, kind.value_field.nullable)
    if types.is_timestamp(kind):
        return TIMESTAMP_NTZ if kind.tz is None else TIMESTAMP
    if types.is_decimal(kind) and 0 <= kind.scale <= kind.precision <= 38:
        return DecimalType(kind.precision, kind.scale)
    known = _FROM_ARROW.get(kind.id)
    if known is None:
        where = f"column {render_path(path)}: " if path else ""
        raise SchemaError(
            f"{where}Delta has no type for Arrow's {kind}",
            hint="convert the column to a type that Delta has, or leave it out",
        )
    return known


def parquet_schema(physical: StructType, with_field_ids: bool) -> pa.Schema:
    """The schema of data files, for a schema of physical names.

    Every field is optional, as in delta-spark's files: pyarrow refuses required fields inside
    structs that are null. Void columns are left out at every depth, as in `without_void`.
    """
    validate_void(physical)
    return pa.schema([_parquet_field(each, with_field_ids) for each in without_void(physical)])


# --- helpers -----------------------------------------------------------------------------------

_VARIANT_TYPE = pa.struct(
    [pa.field("metadata", pa.binary(), False), pa.field("value", pa.binary(), False)]
)
_TO_ARROW: Mapping[str, pa.DataType] = {
    STRING.name: pa.string(),
    LONG.name: pa.int64(),
    INTEGER.name: pa.int32(),
    SHORT.name: pa.int16(),
    BYTE.name: pa.int8(),
    FLOAT.name: pa.float32(),
    DOUBLE.name: pa.float64(),
    BOOLEAN.name: pa.bool_(),
    BINARY.name: pa.binary(),
    DATE.name: pa.date32(),
    TIMESTAMP.name: pa.timestamp("us", "UTC"),
    TIMESTAMP_NTZ.name: pa.timestamp("us"),
    VOID.name: pa.null(),
    VARIANT.name: _VARIANT_TYPE,
}
_FROM_ARROW: Mapping[int, DataType] = {
    pa.string().id: STRING,
    pa.large_string().id: STRING,
    pa.string_view().id: STRING,
    pa.binary().id: BINARY,
    pa.large_binary().id: BINARY,
    pa.binary_view().id: BINARY,
    pa.binary(1).id: BINARY,
    pa.int8().id: BYTE,
    pa.int16().id: SHORT,
    pa.int32().id: INTEGER,
    pa.int64().id: LONG,
    pa.uint8().id: SHORT,
    pa.uint16().id: INTEGER,
    pa.uint32().id: LONG,
    pa.uint64().id: DecimalType(20, 0),
    pa.float16().id: FLOAT,
    pa.float32().id: FLOAT,
    pa.float64().id: DOUBLE,
    pa.bool_().id: BOOLEAN,
    pa.date32().id: DATE,
    pa.date64().id: DATE,
    pa.null().id: VOID,
}


def _to_arrow_leaf(data_type: DataType) -> pa.DataType:
    if isinstance(data_type, DecimalType):
        return pa.decimal128(data_type.precision, data_type.scale)
    if isinstance(data_type, UserDefinedType):
        return to_arrow_type(data_type.sql_type)
    if isinstance(data_type, PrimitiveType):
        if data_type.is_geospatial:
            return pa.binary()
        if data_type.name in _TO_ARROW:
            return _TO_ARROW[data_type.name]
    raise SchemaError(f"the type {data_type} has no Arrow type")


def _arrow_field(name: str, data_type: DataType, nullable: bool) -> pa.Field:
    kind = to_arrow_type(data_type)
    # Arrow has no null type without nulls.
    return pa.field(name, kind, nullable or pa.types.is_null(kind))


def _from_arrow_field(field: pa.Field, path: Path) -> StructField:
    data_type = from_arrow_type(field.type, (*path, field.name))
    return StructField(field.name, data_type, field.nullable)


def _undecorated(kind: pa.DataType) -> pa.DataType:
    if isinstance(kind, pa.BaseExtensionType):
        return _undecorated(kind.storage_type)
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return _undecorated(kind.value_type)
    return kind


def is_list(kind: pa.DataType) -> bool:
    types = pa.types
    checks = (
        types.is_list,
        types.is_large_list,
        types.is_fixed_size_list,
        types.is_list_view,
        types.is_large_list_view,
    )
    return any(check(kind) for check in checks)


def _parquet_field(field: StructField, with_ids: bool) -> pa.Field:
    number = column_id(field)
    if not with_ids:
        return pa.field(field.name, _parquet_type(field.data_type, field.name, {}, False))
    if number is None:
        raise SchemaError(f"column {field.name!r} has no id to write into data files")
    kind = _parquet_type(field.data_type, field.name, nested_ids(field), True)
    return pa.field(field.name, kind, metadata={FIELD_ID: str(number)})


def _parquet_type(
    data_type: DataType, path: str, ids: Mapping[str, int], with_ids: bool
) -> pa.DataType:
    def part(step: str, inner: DataType, nullable: bool = True) -> pa.Field:
        here = f"{path}.{step}"
        metadata = {FIELD_ID: str(ids[here])} if here in ids else None
        return pa.field(step, _parquet_type(inner, here, ids, with_ids), nullable, metadata)

    if isinstance(data_type, StructType):
        return pa.struct([_parquet_field(each, with_ids) for each in data_type.fields])
    if isinstance(data_type, ArrayType):
        return pa.list_(part("element", data_type.element_type))
    if isinstance(data_type, MapType):
        return pa.map_(part("key", data_type.key_type, False), part("value", data_type.value_type))
    return to_arrow_type(data_type)
