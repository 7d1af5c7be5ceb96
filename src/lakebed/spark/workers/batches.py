"""Arrow tables of Lakebed as the Arrow batches that Spark takes from a Python worker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.arrow.relabel import relabel
from lakebed.arrow.scan import ScanPlan, read_pieces
from lakebed.formats.arrow_types import to_arrow_schema, to_arrow_type
from lakebed.spec.schema import (
    VARIANT,
    ArrayType,
    DataType,
    MapType,
    StructField,
    StructType,
    walk_types,
)

# Large enough that the overhead of a batch is small, small enough for wide rows.
_BATCH_ROWS = 32 * 1024
# Spark has the parts of a variant in this order.
_VARIANT = pa.struct(
    [
        pa.field("value", pa.binary(), False),
        pa.field("metadata", pa.binary(), False, {b"variant": b"true"}),
    ]
)


def spark_schema(schema: StructType) -> pa.Schema:
    """The Arrow schema that Spark expects; that of the table, but for variants."""
    arrow = to_arrow_schema(schema)
    fields = [
        arrow.field(i).with_type(_spark_type(field.data_type))
        for i, field in enumerate(schema.fields)
    ]
    return pa.schema(fields)


def file_batches(
    plan: ScanPlan, file: dict[str, Any], schema: StructType
) -> Iterator[pa.RecordBatch]:
    """What a scan wants of one of its files, with the columns of `schema`."""
    for table in read_pieces(plan, file):
        yield from spark_batches(table, schema)


def spark_batches(table: pa.Table, schema: StructType) -> Iterator[pa.RecordBatch]:
    """The rows in batches; `table` has the columns of `schema`."""
    target = spark_schema(schema)
    columns = [
        _converted(table.column(field.name), field, target.field(i).type)
        for i, field in enumerate(schema.fields)
    ]
    yield from pa.Table.from_arrays(columns, schema=target).to_batches(max_chunksize=_BATCH_ROWS)


def _converted(column: pa.ChunkedArray, field: StructField, kind: pa.DataType) -> pa.ChunkedArray:
    if not _has_variant(field.data_type):
        return relabel(column, kind)
    chunks = [_reordered(chunk, field.data_type, kind) for chunk in column.chunks]
    return pa.chunked_array(chunks, type=kind)


def _reordered(array: pa.Array, data_type: DataType, kind: pa.DataType) -> pa.Array:
    """The array with the parts of every variant in it as Spark has them."""
    if not _has_variant(data_type):
        return array.cast(kind)
    mask = array.is_null() if array.null_count else None
    if data_type == VARIANT:
        parts = [array.field("value"), array.field("metadata")]
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=mask)
    if isinstance(data_type, StructType):
        children = [
            _reordered(array.field(i), field.data_type, kind.field(i).type)
            for i, field in enumerate(data_type.fields)
        ]
        return pa.StructArray.from_arrays(children, fields=list(kind), mask=mask)
    fresh = array.take(pc.indices_nonzero(pa.repeat(True, len(array))))
    if isinstance(data_type, ArrayType):
        values = _reordered(fresh.values, data_type.element_type, kind.value_type)
        return pa.ListArray.from_arrays(fresh.offsets, values, type=kind, mask=mask)
    assert isinstance(data_type, MapType)
    keys = _reordered(fresh.keys, data_type.key_type, kind.key_type)
    items = _reordered(fresh.items, data_type.value_type, kind.item_type)
    return pa.MapArray.from_arrays(fresh.offsets, keys, items, type=kind, mask=mask)


def _spark_type(data_type: DataType) -> pa.DataType:
    if data_type == VARIANT:
        return _VARIANT
    if not _has_variant(data_type):
        return to_arrow_type(data_type)
    if isinstance(data_type, StructType):
        return pa.struct(list(spark_schema(data_type)))
    arrow = to_arrow_type(data_type)
    if isinstance(data_type, ArrayType):
        return pa.list_(arrow.value_field.with_type(_spark_type(data_type.element_type)))
    assert isinstance(data_type, MapType)
    item = arrow.item_field.with_type(_spark_type(data_type.value_type))
    return pa.map_(arrow.key_field, item)


def _has_variant(data_type: DataType) -> bool:
    return any(each == VARIANT for each in walk_types(data_type))
