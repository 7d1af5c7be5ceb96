"""Arrow tables in exactly the types of a schema: every value fits or is refused, none is rounded.

PROTOCOL: Reader Requirements for Type Widening, Delta Data Type to Parquet Type Mappings, Variant
data in Parquet. Beside the widenings this takes the other spellings of a type that Arrow and
Parquet have: wider offsets, units, zones, unsigned integers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import SchemaMismatchError
from lakebed.formats.arrow_types import is_list, to_arrow_schema, to_arrow_type
from lakebed.spec.schema import (
    VARIANT,
    VOID,
    ArrayType,
    DataType,
    MapType,
    Path,
    StructField,
    StructType,
    UserDefinedType,
    render_path,
    walk_types,
)

# Arrow's lists, strings and binaries with 32-bit offsets hold less than this.
_MAX_BYTES = 2**31 - 1


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
        raise _mismatch((field.name,), column.type, field.data_type, str(error)) from error


class _Caster:
    """Goes down two types at once, rebuilding arrays around the parts that had to change."""

    def __init__(self, strict: bool) -> None:
        self._strict = strict

    def cast(
        self, array: pa.Array, data_type: DataType, target: pa.DataType, path: Path
    ) -> pa.Array:
        array = _decoded(array)
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
        return _cast_values(array, target, path)

    def _struct(
        self, array: pa.Array, data_type: StructType, target: pa.DataType, path: Path
    ) -> pa.Array:
        if not pa.types.is_struct(array.type):
            raise _mismatch(path, array.type, data_type)
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
        if not is_list(array.type):
            raise _mismatch(path, array.type, data_type)
        offsets, values = _list_parts(array)
        values = self.cast(values, data_type.element_type, target.value_type, (*path, "element"))
        return pa.ListArray.from_arrays(offsets, values, type=target, mask=_mask(array))

    def _map(
        self, array: pa.Array, data_type: MapType, target: pa.DataType, path: Path
    ) -> pa.Array:
        if not pa.types.is_map(array.type):
            raise _mismatch(path, array.type, data_type)
        offsets, keys, items = _map_parts(array)
        keys = self.cast(keys, data_type.key_type, target.key_type, (*path, "key"))
        items = self.cast(items, data_type.value_type, target.item_type, (*path, "value"))
        return pa.MapArray.from_arrays(offsets, keys, items, type=target, mask=_mask(array))

    def _variant(self, array: pa.Array, target: pa.DataType, path: Path) -> pa.Array:
        if not pa.types.is_struct(array.type):
            raise _mismatch(path, array.type, VARIANT)
        names = [each.name for each in array.type]
        if sorted(names) != ["metadata", "value"]:
            raise _mismatch(path, array.type, VARIANT, "a variant is stored as metadata and value")
        parts = dict(zip(names, _struct_parts(array), strict=True))
        if any(part.null_count != array.null_count for part in parts.values()):
            raise _mismatch(path, array.type, VARIANT, "a variant has no metadata or no value")
        if array.type == target and not array.null_count:
            return array
        # Files need both parts of a null variant too, since neither is optional in Parquet.
        children = [
            pc.fill_null(_cast_values(parts[each.name], each.type, path), b"") for each in target
        ]
        return _struct_array(children, target, array)


def _positions(
    names: Sequence[str], schema: StructType, path: Path, strict: bool
) -> list[int | None]:
    """The position of each field of the schema; the exact name wins over one in another case."""
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
            f"column {render_path(path)} appears {len(found)} times in the data",
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
    # Other layouts may share or skip values, so the lengths are counted up again.
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


# --- values without parts -------------------------------------------------------------------------


def _cast_values(array: pa.Array, target: pa.DataType, path: Path) -> pa.Array:
    """The same values in the target type; every one of them, or an error that names the column."""
    if array.type == target:
        return array
    if not _can_cast(array.type, target):
        raise _mismatch(path, array.type, target)
    try:
        return array.cast(target)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise _mismatch(path, array.type, target, str(error)) from error


def _can_cast(source: pa.DataType, target: pa.DataType) -> bool:
    """Whether values of one type can be values of the other; single values may still not fit."""
    takes = _TAKES.get(target.id)
    return takes is not None and takes(source, target)


def _decoded(array: pa.Array) -> pa.Array:
    """The array without encodings and extensions that only say how its values are meant."""
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return _decoded(array.storage)
    if pa.types.is_dictionary(kind):
        return _decoded(array.dictionary_decode())
    if pa.types.is_run_end_encoded(kind):
        return _decoded(pc.run_end_decode(array))
    return array


def _mismatch(
    path: Path, source: object, target: object, reason: str | None = None
) -> SchemaMismatchError:
    message = f"column {render_path(path)}: data of type {source} cannot be taken as {target}"
    return SchemaMismatchError(
        f"{message}: {reason}" if reason else message,
        hint="convert the column to the type of the table, losing nothing",
    )


def _text(source: pa.DataType, _: pa.DataType) -> bool:
    # Writers differ in whether they annotate bytes as text; what is not UTF-8 is refused.
    return source.id in _TEXTS


def _integer(source: pa.DataType, _: pa.DataType) -> bool:
    return bool(pa.types.is_integer(source))


def _float(source: pa.DataType, target: pa.DataType) -> bool:
    if pa.types.is_floating(source):
        return bool(source.bit_width <= target.bit_width)
    # All integers of half the width or less have an exact float.
    return bool(pa.types.is_integer(source) and source.bit_width * 2 <= target.bit_width)


def _decimal(source: pa.DataType, _: pa.DataType) -> bool:
    return bool(pa.types.is_decimal(source) or pa.types.is_integer(source))


def _boolean(source: pa.DataType, _: pa.DataType) -> bool:
    return bool(pa.types.is_boolean(source))


def _date(source: pa.DataType, _: pa.DataType) -> bool:
    return bool(pa.types.is_date(source))


def _timestamp(source: pa.DataType, target: pa.DataType) -> bool:
    if pa.types.is_date32(source):
        return target.tz is None
    if not pa.types.is_timestamp(source):
        return False
    # Parquet's int96 has no zone and counts as UTC. A wall clock of another zone would shift.
    return target.tz is not None or source.tz is None or source.tz in _UTC


_TEXTS = frozenset(
    kind.id
    for kind in (
        pa.string(),
        pa.large_string(),
        pa.string_view(),
        pa.binary(),
        pa.large_binary(),
        pa.binary_view(),
        pa.binary(1),
    )
)
_UTC = frozenset(["UTC", "Etc/UTC", "GMT", "Z", "+00:00", "-00:00"])
_TAKES: dict[int, Callable[[pa.DataType, pa.DataType], bool]] = {
    pa.string().id: _text,
    pa.binary().id: _text,
    pa.int8().id: _integer,
    pa.int16().id: _integer,
    pa.int32().id: _integer,
    pa.int64().id: _integer,
    pa.float32().id: _float,
    pa.float64().id: _float,
    pa.decimal128(1).id: _decimal,
    pa.bool_().id: _boolean,
    pa.date32().id: _date,
    pa.timestamp("us").id: _timestamp,
}
