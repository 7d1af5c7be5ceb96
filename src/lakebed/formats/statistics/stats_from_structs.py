"""Statistics that checkpoints hold as structs, `stats_parsed` (PROTOCOL: Checkpoint Schema).

Their types are those that the table had when the checkpoint was written, or what its writer made
of them. Where they cannot be cast without losing anything, there are no statistics.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.formats.arrow_types import to_arrow_type
from lakebed.spec.schema import Path, StructType
from lakebed.spec.stats import MIN_VALUES, NULL_COUNT, NUM_RECORDS


def conform_stats(stats: pa.StructArray, schema: StructType) -> pa.StructArray:
    """The same statistics, of the Arrow type of `schema`; what is missing is null."""
    return _conform(stats, schema, counts=False)


def has_column(kind: pa.DataType, path: Path) -> bool:
    """Whether structs of the type can hold statistics of the column at a physical path."""
    return any(_contains(kind, (part, *path)) for part in (NULL_COUNT, MIN_VALUES))


def _conform(array: pa.StructArray, schema: StructType, *, counts: bool) -> pa.StructArray:
    present = dict(zip((field.name for field in array.type), array.flatten(), strict=True))
    children = []
    for field in schema:
        values = present.get(field.name)
        is_count = counts or field.name in (NUM_RECORDS, NULL_COUNT)
        if values is None:
            child = pa.nulls(len(array), to_arrow_type(field.data_type))
        elif not isinstance(field.data_type, StructType):
            child = _leaf(values, to_arrow_type(field.data_type), is_count)
        elif pa.types.is_struct(values.type):
            child = _conform(values, field.data_type, counts=is_count)
        else:
            child = pa.nulls(len(array), to_arrow_type(field.data_type))
        children.append(child)
    fields = [pa.field(f.name, child.type) for f, child in zip(schema, children, strict=True)]
    return pa.StructArray.from_arrays(children, fields=fields, mask=array.is_null())


def _leaf(values: pa.Array, kind: pa.DataType, is_count: bool) -> pa.Array:
    typed = _cast(values, kind)
    if is_count:
        return _null_where(pc.less(typed, 0), typed)
    # Spark's NaN is a maximum that bounds nothing.
    return _null_where(pc.is_nan(typed), typed) if pa.types.is_floating(kind) else typed


def _cast(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if values.type == kind:
        return values
    if not any(is_from(values.type) and is_to(kind) for is_from, is_to in _CASTS):
        return pa.nulls(len(values), kind)
    try:
        return values.cast(kind)
    except pa.ArrowInvalid:
        return pa.nulls(len(values), kind)


def _is_exact_timestamp(kind: pa.DataType) -> bool:
    # Nanoseconds come from INT96, and years outside 1677 to 2262 have silently become others.
    return bool(pa.types.is_timestamp(kind) and kind.unit != "ns")


def _is_text(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_string_view(kind)
        or (pa.types.is_dictionary(kind) and _is_text(kind.value_type))
    )


_CASTS = (
    (pa.types.is_integer, pa.types.is_integer),
    (pa.types.is_integer, pa.types.is_floating),
    (pa.types.is_integer, pa.types.is_decimal),
    (pa.types.is_float32, pa.types.is_float64),
    (pa.types.is_decimal, pa.types.is_decimal),
    (pa.types.is_date, pa.types.is_timestamp),
    (_is_exact_timestamp, pa.types.is_timestamp),
    (_is_text, _is_text),
)


def _null_where(mask: pa.BooleanArray, values: pa.Array) -> pa.Array:
    return pc.if_else(mask.fill_null(False), pa.scalar(None, values.type), values)


def _contains(kind: pa.DataType, path: Path) -> bool:
    for step in path:
        index = kind.get_field_index(step) if pa.types.is_struct(kind) else -1
        if index < 0:
            return False
        kind = kind.field(index).type
    return True
