"""Writing the Parquet files of checkpoints: classic, V2 and sidecars.

PROTOCOL: Checkpoint Schema, Sidecar Files. One column per kind of action, a struct each, and one
row per action. The order of columns and fields is delta-spark's. `remove` has neither `stats` nor
`tags`: tombstones need none.

The few actions that are not files have the first row group
to themselves, so that the head of a table comes without a byte of its files; only where the whole
file is read in one go anyway, all rows stand together. Page checksums and the digest of
`parquet_digest` show later damage.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lakebed.formats import parquet_digest
from lakebed.formats.codecs import arrow_codec
from lakebed.formats.file_actions import ADD_SCHEMA, REMOVE_SCHEMA, STRING_MAP
from lakebed.spec.actions import Action, wrap

ROWS_PER_GROUP = 65_536
# So many files in one group with the rest: that takes a third less time and space.
FILES_WITH_THE_REST = 1_000


def encode(
    file: str,
    kinds: Sequence[str],
    actions: Sequence[Action],
    adds: pa.Table,
    removes: pa.Table,
    *,
    codec: str = "snappy",
) -> bytes:
    """The bytes of the file of that name that holds `actions`, then `adds`, then `removes`."""
    schema = checkpoint_schema(kinds, adds.schema)
    groups = _groups(schema, actions, adds, removes)
    if adds.num_rows + removes.num_rows <= FILES_WITH_THE_REST:
        groups = iter([pa.concat_tables([schema.empty_table(), *groups])])
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, schema, **_options(schema, codec)) as writer:
        for rows in groups:
            writer.write_table(rows, row_group_size=ROWS_PER_GROUP)
        writer.add_key_value_metadata({parquet_digest.KEY: parquet_digest.PLACEHOLDER})
    return parquet_digest.with_digest(memoryview(sink.getvalue()), file)


def _groups(
    schema: pa.Schema, actions: Sequence[Action], adds: pa.Table, removes: pa.Table
) -> Iterator[pa.Table]:
    if actions:
        yield action_rows(actions, schema)
    yield from file_rows("add", adds, schema, ROWS_PER_GROUP)
    yield from file_rows("remove", removes, schema, ROWS_PER_GROUP)


def _options(schema: pa.Schema, codec: str) -> dict[str, object]:
    return {
        "compression": arrow_codec(codec),
        "write_page_checksum": True,
        # Readers go by the Parquet types; Arrow's own schema would only make the footer longer.
        "store_schema": False,
        # Elsewhere nearly all values differ, and a dictionary would be built in vain.
        "use_dictionary": [path for path in _leaf_paths(schema) if _repeats(path)],
        "write_batch_size": ROWS_PER_GROUP,
    }


def _repeats(path: str) -> bool:
    return ".partitionValues" in path or ".tags." in path or path == "add.clusteringProvider"


def _leaf_paths(schema: pa.Schema) -> list[str]:
    return [path for field in schema for path in _paths(field.name, field.type)]


def _paths(path: str, kind: pa.DataType) -> list[str]:
    if pa.types.is_struct(kind):
        fields = [kind.field(position) for position in range(kind.num_fields)]
        return [leaf for field in fields for leaf in _paths(f"{path}.{field.name}", field.type)]
    if pa.types.is_map(kind):
        return [f"{path}.key_value.key", f"{path}.key_value.value"]
    return [f"{path}.list.element"] if pa.types.is_list(kind) else [path]


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
