"""File actions as Arrow columns (PROTOCOL: Add File and Remove File).

A snapshot keeps its files as columns, never as an object per file. The columns are named as in
the log; `path` and `partitionValues` are as the log has them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.spec.actions import ADD_FIELDS, REMOVE_FIELDS, Add, DeletionVector, Remove

STRING_MAP = pa.map_(pa.string(), pa.string())
DELETION_VECTOR = pa.struct(
    [
        ("storageType", pa.string()),
        ("pathOrInlineDv", pa.string()),
        ("offset", pa.int32()),
        ("sizeInBytes", pa.int32()),
        ("cardinality", pa.int64()),
    ]
)

_TYPES = {
    "path": pa.string(),
    "partitionValues": STRING_MAP,
    "size": pa.int64(),
    "modificationTime": pa.int64(),
    "deletionTimestamp": pa.int64(),
    "dataChange": pa.bool_(),
    "extendedFileMetadata": pa.bool_(),
    "stats": pa.string(),
    "tags": STRING_MAP,
    "deletionVector": DELETION_VECTOR,
    "baseRowId": pa.int64(),
    "defaultRowCommitVersion": pa.int64(),
    "clusteringProvider": pa.string(),
}
ADD_SCHEMA = pa.schema([(name, _TYPES[name]) for name in ADD_FIELDS])

# In the order of delta-spark's checkpoints, which leave out `stats` and `tags`.
_REMOVE_COLUMNS = (
    "path",
    "deletionTimestamp",
    "dataChange",
    "extendedFileMetadata",
    "partitionValues",
    "size",
    "deletionVector",
    "baseRowId",
    "defaultRowCommitVersion",
)
REMOVE_SCHEMA = pa.schema([(name, _TYPES[name]) for name in _REMOVE_COLUMNS])

_REQUIRED = ("path", "size", "modificationTime")
_FLUSH = 16_384


class FileTableBuilder:
    """Collects file actions row by row and turns them into Arrow columns a batch at a time."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._batches: list[pa.RecordBatch] = []
        self._rows: list[Mapping[str, Any]] = []

    def append(self, row: Mapping[str, Any]) -> None:
        self._rows.append(row)
        if len(self._rows) >= _FLUSH:
            self._flush()

    def finish(self) -> pa.Table:
        self._flush()
        return pa.Table.from_batches(self._batches, schema=self._schema)

    def _flush(self) -> None:
        if self._rows:
            arrays = [_column(self._rows, field) for field in self._schema]
            self._batches.append(pa.RecordBatch.from_arrays(arrays, schema=self._schema))
            self._rows = []


def adds_to_table(adds: Sequence[Add]) -> pa.Table:
    return _actions_to_table(adds, ADD_SCHEMA, ADD_FIELDS)


def removes_to_table(removes: Sequence[Remove]) -> pa.Table:
    return _actions_to_table(removes, REMOVE_SCHEMA, REMOVE_FIELDS)


def adds_from_table(table: pa.Table) -> list[Add]:
    """Actions for a few files; columns that are absent count as null."""
    # In the order of the schema, which is that of `Add`.
    columns = [_values(table, name) for name in ADD_SCHEMA.names]
    return [
        Add(
            path,
            dict(values or ()),
            size,
            modified,
            bool(changes),
            stats,
            _mapping(tags),
            _vector(vector),
            *rest,
        )
        for path, values, size, modified, changes, stats, tags, vector, *rest in zip(
            *columns, strict=True
        )
    ]


def removes_from_table(table: pa.Table) -> list[Remove]:
    return [
        Remove(
            path=row["path"],
            data_change=bool(row.get("dataChange")),
            deletion_timestamp=row.get("deletionTimestamp"),
            extended_file_metadata=row.get("extendedFileMetadata"),
            partition_values=_mapping(row.get("partitionValues")),
            size=row.get("size"),
            deletion_vector=_vector(row.get("deletionVector")),
            base_row_id=row.get("baseRowId"),
            default_row_commit_version=row.get("defaultRowCommitVersion"),
        )
        for row in table.to_pylist()
    ]


def _actions_to_table(
    actions: Sequence[Add] | Sequence[Remove], schema: pa.Schema, attributes: Mapping[str, str]
) -> pa.Table:
    """Column by column: an object in JSON for each action would cost ten times as much."""
    batches = []
    for start in range(0, len(actions), _FLUSH):
        some = actions[start : start + _FLUSH]
        arrays = [
            _array(list(map(attrgetter(attributes[field.name]), some)), field.type)
            for field in schema
        ]
        batches.append(pa.RecordBatch.from_arrays(arrays, schema=schema))
    return pa.Table.from_batches(batches, schema=schema)


def map_values(maps: pa.MapArray, key: str) -> pa.StringArray:
    """What each map holds for `key`; null where it has none.

    The maps of a table's files nearly always have the same keys in the same order. Then the
    values stand at even distances, and no map needs to be looked into.
    """
    width = _common_length(maps)
    if width:
        start = maps.offsets[0].as_py()
        keys = maps.keys.slice(start, width * len(maps))
        for index in range(width):
            at = _every(width, index, len(maps))
            if pc.all(pc.equal(keys.take(at), key)).as_py():
                return maps.items.slice(start, width * len(maps)).take(at)
    return pc.map_lookup(maps, query_key=pa.scalar(key), occurrence="first").cast(pa.string())


def _common_length(maps: pa.MapArray) -> int:
    """How many entries every map has; 0 where they differ."""
    if not len(maps) or maps.null_count:
        return 0
    lengths = pc.min_max(pc.subtract(maps.offsets[1:], maps.offsets[:-1])).as_py()
    return int(lengths["min"]) if lengths["min"] == lengths["max"] else 0


def _every(step: int, start: int, count: int) -> pa.Int64Array:
    numbers = pc.indices_nonzero(pa.repeat(pa.scalar(True), count)).cast(pa.int64())
    return pc.add(pc.multiply(numbers, step), start)


def _column(rows: list[Mapping[str, Any]], field: pa.Field) -> pa.Array:
    return _array([row.get(field.name) for row in rows], field.type)


def _array(values: list[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_map(kind):
        values = [None if value is None else list(value.items()) for value in values]
    elif kind == DELETION_VECTOR:
        values = [each.to_json() if isinstance(each, DeletionVector) else each for each in values]
    return pa.array(values, type=kind)


def _values(table: pa.Table, name: str) -> list[Any]:
    absent = name not in table.column_names and name not in _REQUIRED
    # Most tables have no values at all in most of the columns.
    if absent or table.column(name).null_count == table.num_rows:
        return [None] * table.num_rows
    column: list[Any] = table.column(name).to_pylist()
    return column


def _mapping(entries: list[tuple[str, str | None]] | None) -> dict[str, str | None] | None:
    return None if entries is None else dict(entries)


def _vector(raw: Mapping[str, Any] | None) -> DeletionVector | None:
    return None if raw is None else DeletionVector.parse(raw)
