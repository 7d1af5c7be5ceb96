"""The rows of a checkpoint as Arrow columns (PROTOCOL: Checkpoint Schema).

One column per kind of action, a struct each, and one row per action. The order of columns and
fields is delta-spark's. `remove` has neither `stats` nor `tags`: tombstones need none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from lakebed.formats.file_actions import ADD_SCHEMA, REMOVE_SCHEMA, STRING_MAP
from lakebed.spec.actions import Action, wrap

_STRINGS = pa.list_(pa.field("element", pa.string()))

TXN = pa.struct([("appId", pa.string()), ("version", pa.int64()), ("lastUpdated", pa.int64())])
METADATA = pa.struct(
    [
        ("id", pa.string()),
        ("name", pa.string()),
        ("description", pa.string()),
        ("format", pa.struct([("provider", pa.string()), ("options", STRING_MAP)])),
        ("schemaString", pa.string()),
        ("partitionColumns", _STRINGS),
        ("configuration", STRING_MAP),
        ("createdTime", pa.int64()),
    ]
)
PROTOCOL = pa.struct(
    [
        ("minReaderVersion", pa.int32()),
        ("minWriterVersion", pa.int32()),
        ("readerFeatures", _STRINGS),
        ("writerFeatures", _STRINGS),
    ]
)
DOMAIN = pa.struct(
    [("domain", pa.string()), ("configuration", pa.string()), ("removed", pa.bool_())]
)
CHECKPOINT_METADATA = pa.struct([("version", pa.int64()), ("tags", STRING_MAP)])
SIDECAR = pa.struct(
    [
        ("path", pa.string()),
        ("sizeInBytes", pa.int64()),
        ("modificationTime", pa.int64()),
        ("tags", STRING_MAP),
    ]
)
REMOVE = pa.struct(list(REMOVE_SCHEMA))

PARSED_STATS = "stats_parsed"
PARSED_PARTITION_VALUES = "partitionValues_parsed"
# Parsed statistics and partition values have the types that the table gives them.
ADD_COLUMNS: tuple[str, ...] = (
    *(name for name in ADD_SCHEMA.names if name != "stats"),
    "stats",
    PARSED_PARTITION_VALUES,
    PARSED_STATS,
)

V1_KINDS: tuple[str, ...] = ("txn", "add", "remove", "metaData", "protocol", "domainMetadata")
V2_KINDS: tuple[str, ...] = (*V1_KINDS, "checkpointMetadata", "sidecar")
SIDECAR_KINDS: tuple[str, ...] = ("add", "remove")


def checkpoint_schema(kinds: Sequence[str], adds: pa.Schema) -> pa.Schema:
    """The schema of a file with these kinds of actions; `adds` are the fields of `add`."""
    types = {**_TYPES, "add": pa.struct(list(adds))}
    return pa.schema([(kind, types[kind]) for kind in kinds])


def action_rows(actions: Sequence[Action], schema: pa.Schema) -> pa.Table:
    """Rows for actions that are few: everything but files."""
    lines = [wrap(action) for action in actions]
    columns = [
        pa.array([_as_arrow(line.get(field.name), field.type) for line in lines], field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)


def file_rows(
    kind: str, files: pa.Table, schema: pa.Schema, rows_at_once: int
) -> Iterator[pa.Table]:
    """Rows for file actions that are columns already, some at a time."""
    most = min(rows_at_once, files.num_rows)
    nulls = {field.name: pa.nulls(most, field.type) for field in schema if field.name != kind}
    for start in range(0, files.num_rows, rows_at_once):
        part = files.slice(start, rows_at_once).combine_chunks()
        structs = _struct(part, schema.field(kind).type)
        columns = [
            structs if name == kind else nulls[name].slice(0, part.num_rows)
            for name in schema.names
        ]
        yield pa.table(columns, schema=schema)


_TYPES: Mapping[str, pa.DataType] = {
    "txn": TXN,
    "remove": REMOVE,
    "metaData": METADATA,
    "protocol": PROTOCOL,
    "domainMetadata": DOMAIN,
    "checkpointMetadata": CHECKPOINT_METADATA,
    "sidecar": SIDECAR,
}


def _struct(part: pa.Table, kind: pa.StructType) -> pa.StructArray:
    fields = [kind.field(position) for position in range(kind.num_fields)]
    arrays = [part.column(field.name).combine_chunks() for field in fields]
    return pa.StructArray.from_arrays(arrays, fields=fields)


def _as_arrow(value: Any, kind: pa.DataType) -> Any:
    """JSON as Arrow takes it: maps as pairs."""
    if value is None:
        return None
    if pa.types.is_map(kind):
        return list(value.items())
    if pa.types.is_struct(kind):
        fields = (kind.field(position) for position in range(kind.num_fields))
        return {field.name: _as_arrow(value.get(field.name), field.type) for field in fields}
    return value
