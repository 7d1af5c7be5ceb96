"""Delta types as Arrow types and back, and Arrow tables in exactly a schema's types.

PROTOCOL: Delta Data Type to Parquet Type Mappings, Variant data in Parquet, Void Type.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import SchemaError, SchemaMismatchError
from lakebed.formats.arrow_cast import cast_values, decoded, mismatch
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
    walk_types,
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
    if _is_list(kind):
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


# --- tables ------------------------------------------------------------------------------------


def cast_table(
    table: pa.Table | pa.RecordBatch, schema: StructType, *, refuse_extra: bool = False
) -> pa.Table:
    """The columns of the schema in exactly its types, in its order, under its names.

    Names match in any case, at every depth. What the table lacks is null, what it has beyond the
    schema is left out, or refused with `refuse_extra`. A value that does not fit is an error.
    Columns that have the right type already are passed on as they are.
    """
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    if not len(schema):
        return table.select([])
    target = to_arrow_schema(schema)
    positions = _positions(table.column_names, schema, (), refuse_extra)
    columns = [
        _cast_column(table, position, field, target.field(i).type, refuse_extra)
        for i, (position, field) in enumerate(zip(positions, schema, strict=True))
    ]
    return pa.Table.from_arrays(columns, schema=target)


def _cast_column(
    table: pa.Table, position: int | None, field: StructField, target: pa.DataType, strict: bool
) -> pa.ChunkedArray:
    if position is None:
        return pa.chunked_array([_nulls(table.num_rows, field.data_type)], type=target)
    column = table.column(position)
    if column.type == target and not _has_variant(field.data_type):
        return column
    caster = _Caster(strict)
    try:
        chunks = [
            caster.cast(piece, field.data_type, target, (field.name,))
            for chunk in column.chunks
            for piece in _small_pieces(chunk)
        ]
        return pa.chunked_array(chunks, type=target)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise mismatch((field.name,), column.type, field.data_type, str(error)) from error


class _Caster:
    """Goes down two types at once, rebuilding arrays around the parts that had to change."""

    def __init__(self, strict: bool) -> None:
        self._strict = strict

    def cast(
        self, array: pa.Array, data_type: DataType, target: pa.DataType, path: Path
    ) -> pa.Array:
        array = decoded(array)
        if array.type == target and not _has_variant(data_type):
            return array
        all_null = array.null_count == len(array)
        if pa.types.is_null(array.type) or (data_type == VOID and all_null):
            return _nulls(len(array), data_type)
        if isinstance(data_type, UserDefinedType):
            return self.cast(array, data_type.sql_type, target, path)
        if isinstance(data_type, StructType):
            return self._struct(array, data_type, target, path)
        if isinstance(data_type, ArrayType):
            return self._list(array, data_type, target, path)
        if isinstance(data_type, MapType):
            return self._map(array, data_type, target, path)
        if data_type == VARIANT:
            return self._variant(array, target, path)
        return cast_values(array, target, path)

    def _struct(
        self, array: pa.Array, data_type: StructType, target: pa.DataType, path: Path
    ) -> pa.Array:
        if not pa.types.is_struct(array.type):
            raise mismatch(path, array.type, data_type)
        names = [each.name for each in array.type]
        positions = _positions(names, data_type, path, self._strict)
        parts = _struct_parts(array)
        children = [
            _nulls(len(array), each.data_type)
            if position is None
            else self.cast(
                parts[position], each.data_type, target.field(i).type, (*path, each.name)
            )
            for i, (position, each) in enumerate(zip(positions, data_type, strict=True))
        ]
        return _struct_array(children, target, array)

    def _list(
        self, array: pa.Array, data_type: ArrayType, target: pa.DataType, path: Path
    ) -> pa.Array:
        if not _is_list(array.type):
            raise mismatch(path, array.type, data_type)
        offsets, values = _list_parts(array)
        values = self.cast(values, data_type.element_type, target.value_type, (*path, "element"))
        return pa.ListArray.from_arrays(offsets, values, type=target, mask=_mask(array))

    def _map(
        self, array: pa.Array, data_type: MapType, target: pa.DataType, path: Path
    ) -> pa.Array:
        if not pa.types.is_map(array.type):
            raise mismatch(path, array.type, data_type)
        offsets, keys, items = _map_parts(array)
        keys = self.cast(keys, data_type.key_type, target.key_type, (*path, "key"))
        items = self.cast(items, data_type.value_type, target.item_type, (*path, "value"))
        return pa.MapArray.from_arrays(offsets, keys, items, type=target, mask=_mask(array))

    def _variant(self, array: pa.Array, target: pa.DataType, path: Path) -> pa.Array:
        if not pa.types.is_struct(array.type):
            raise mismatch(path, array.type, VARIANT)
        names = [each.name for each in array.type]
        if sorted(names) != ["metadata", "value"]:
            raise mismatch(path, array.type, VARIANT, "a variant is stored as metadata and value")
        parts = dict(zip(names, _struct_parts(array), strict=True))
        if any(part.null_count != array.null_count for part in parts.values()):
            raise mismatch(path, array.type, VARIANT, "a variant has no metadata or no value")
        if array.type == target and not array.null_count:
            return array
        # Files need both parts of a null variant too, since neither is optional in Parquet.
        children = [
            pc.fill_null(cast_values(parts[each.name], each.type, path), b"") for each in target
        ]
        return _struct_array(children, target, array)


# --- helpers -----------------------------------------------------------------------------------

# Arrow's lists, strings and binaries with 32-bit offsets hold less than this.
_MAX_BYTES = 2**31 - 1
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


def _is_list(kind: pa.DataType) -> bool:
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


def _positions(
    names: Sequence[str], schema: StructType, path: Path, strict: bool
) -> list[int | None]:
    """Where each field of the schema stands; the exact name wins over one in another case."""
    exact: dict[str, list[int]] = {}
    folded: dict[str, list[int]] = {}
    for i, name in enumerate(names):
        exact.setdefault(name, []).append(i)
        folded.setdefault(name.lower(), []).append(i)
    if strict:
        _refuse_extra(names, schema, path)
    return [
        _only(exact.get(each.name) or folded.get(each.name.lower(), []), (*path, each.name))
        for each in schema.fields
    ]


def _only(found: Sequence[int], path: Path) -> int | None:
    if len(found) > 1:
        raise SchemaMismatchError(
            f"column {render_path(path)} stands in the data {len(found)} times",
            hint="names that differ only in case count as the same; rename or drop one of them",
        )
    return found[0] if found else None


def _refuse_extra(names: Sequence[str], schema: StructType, path: Path) -> None:
    extra = [render_path((*path, name)) for name in names if name not in schema]
    if extra:
        raise SchemaMismatchError(
            f"the data has columns that the table does not have: {', '.join(extra)}",
            hint=f"the columns of the table are: {schema}",
        )


def _has_variant(data_type: DataType) -> bool:
    return any(each == VARIANT for each in walk_types(data_type))


def _nulls(count: int, data_type: DataType) -> pa.Array:
    """Nulls whose variants have both parts, as files need them."""
    kind = to_arrow_type(data_type)
    if not _has_variant(data_type) or not pa.types.is_struct(kind):
        return pa.nulls(count, kind)
    if isinstance(data_type, StructType):
        children = [_nulls(count, each.data_type) for each in data_type.fields]
    else:
        children = [pa.repeat(pa.scalar(b"", pa.binary()), count)] * 2
    mask = pa.repeat(pa.scalar(True), count)
    return pa.StructArray.from_arrays(children, fields=list(kind), mask=mask)


def _mask(array: pa.Array) -> pa.Array | None:
    return array.is_null() if array.null_count else None


def _struct_parts(array: pa.Array) -> list[pa.Array]:
    """The children, null where the struct is: what stands below a null struct is no value."""
    if array.null_count:
        return list(array.flatten())
    return [array.field(i) for i in range(array.type.num_fields)]


def _struct_array(children: list[pa.Array], target: pa.DataType, like: pa.Array) -> pa.Array:
    # Without children only the mask tells how many there are.
    mask = _mask(like) if children else like.is_null()
    return pa.StructArray.from_arrays(children, fields=list(target), mask=mask)


def _list_parts(array: pa.Array) -> tuple[pa.Array, pa.Array]:
    if pa.types.is_list(array.type) and len(array):
        offsets, first, count = _offsets(array)
        return offsets, array.values.slice(first, count)
    # Other layouts may share or skip values, so the lengths are counted up anew.
    lengths = pc.fill_null(pc.list_value_length(array), 0).cast(pa.int64())
    ends = pc.cumulative_sum(lengths).cast(pa.int32())
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends])
    # A bitmap of their own, even without nulls, is taken for ambiguous beside the list's mask.
    bare = pa.Array.from_buffers(pa.int32(), len(offsets), [None, offsets.buffers()[1]])
    return bare, array.flatten()


def _map_parts(array: pa.Array) -> tuple[pa.Array, pa.Array, pa.Array]:
    if not len(array):
        return pa.array([0], pa.int32()), array.keys.slice(0, 0), array.items.slice(0, 0)
    offsets, first, count = _offsets(array)
    return offsets, array.keys.slice(first, count), array.items.slice(first, count)


def _offsets(array: pa.Array) -> tuple[pa.Array, int, int]:
    """Offsets from 0 on, and the part of the values that they are about."""
    offsets = array.offsets
    first, end = offsets[0].as_py(), offsets[len(array)].as_py()
    if first or array.offset:
        offsets = pc.subtract(offsets, pa.scalar(first, pa.int32()))
    return offsets, first, end - first


def _small_pieces(array: pa.Array) -> Iterator[pa.Array]:
    """Slices that fit 32-bit offsets; one row that does not is refused by the cast."""
    if _size(array) <= _MAX_BYTES or len(array) < 2:
        yield array
        return
    half = len(array) // 2
    yield from _small_pieces(array.slice(0, half))
    yield from _small_pieces(array.slice(half))


def _size(array: pa.Array) -> int:
    try:
        return int(array.nbytes)
    except pa.ArrowTypeError:
        # Older versions of pyarrow cannot tell for views.
        return 0
