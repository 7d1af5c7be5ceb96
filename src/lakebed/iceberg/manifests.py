"""Manifests and manifest lists in Avro (Iceberg Spec: Manifests, Manifest Lists), version 2.

A manifest lists data files with their state; a manifest list has the manifests of a snapshot.
Entries and manifests are records as Avro holds them, by the names of the specification.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from lakebed.formats import avro
from lakebed.iceberg.iceberg_table import IcebergTable
from lakebed.iceberg.iceberg_values import avro_type, from_avro, partition_summary
from lakebed.iceberg.layout import new_list_path, new_manifest_path, path_below
from lakebed.storage.store import Store

Record = dict[str, Any]
EXISTING, ADDED, DELETED = 0, 1, 2

# A removal rewrites the whole manifest of its file, so they are not large.
FILES_PER_MANIFEST = 1_000


def added_entry(data_file: Record, snapshot_id: int) -> Record:
    """Its sequence numbers are those of the snapshot: inherited from the manifest list."""
    return _entry(ADDED, snapshot_id, None, None, data_file)


def carried_entry(entry: Record, manifest: Record) -> Record:
    """A live entry of an older manifest, as another manifest has it."""
    sequence, file_sequence = _sequences(entry, manifest)
    added_by = entry["snapshot_id"]
    added_by = manifest["added_snapshot_id"] if added_by is None else added_by
    return _entry(EXISTING, added_by, sequence, file_sequence, entry["data_file"])


def deleted_entry(entry: Record, manifest: Record, snapshot_id: int) -> Record:
    sequence, file_sequence = _sequences(entry, manifest)
    return _entry(DELETED, snapshot_id, sequence, file_sequence, entry["data_file"])


def write_manifest(
    store: Store,
    table: IcebergTable,
    entries: Sequence[Record],
    schema_id: int,
    snapshot_id: int,
    sequence: int,
) -> Record:
    """Writes a manifest under a new name; what the manifest list says of it."""
    metadata = {
        "schema": json.dumps({"type": "struct", "schema-id": schema_id, "fields": table.fields}),
        "schema-id": str(schema_id),
        "partition-spec": json.dumps(table.spec),
        "partition-spec-id": "0",
        "format-version": "2",
        "content": "data",
    }
    data = avro.encode(_entry_schema(table), entries, metadata)
    path = new_manifest_path()
    store.put(path, data)
    live = [e["sequence_number"] for e in entries if e["status"] != DELETED]
    return {
        "manifest_path": table.path(path),
        "manifest_length": len(data),
        "partition_spec_id": 0,
        "content": 0,
        "sequence_number": sequence,
        "min_sequence_number": min((sequence if n is None else n for n in live), default=sequence),
        "added_snapshot_id": snapshot_id,
        **_counts(entries),
        "partitions": _summaries(table, entries),
    }


def read_manifest(data: bytes, manifest: Record) -> list[Record]:
    """The entries that are live."""
    _, entries = avro.decode(data, manifest["manifest_path"])
    return [entry for entry in entries if entry["status"] != DELETED]


def manifest_bytes(store: Store, table: IcebergTable, manifests: Sequence[Record]) -> list[bytes]:
    return store.get_many([path_below(m["manifest_path"], table.location) for m in manifests])


def may_hold(data: bytes, manifest: Record, locations: Iterable[str]) -> bool:
    """Whether a manifest has one of a few files; sometimes it says so and has none."""
    wanted = [location.encode("utf-8") for location in locations]
    return any(
        location in block
        for block in avro.decoded_blocks(data, manifest["manifest_path"])
        for location in wanted
    )


def is_live(manifest: Record) -> bool:
    return live_files(manifest) > 0


def live_files(manifest: Record) -> int:
    return int(manifest["added_files_count"] + manifest["existing_files_count"])


def write_list(
    store: Store,
    manifests: Sequence[Record],
    snapshot_id: int,
    parent_id: int | None,
    sequence: int,
) -> str:
    """Writes a manifest list under a new name; gives its path."""
    metadata = {
        "snapshot-id": str(snapshot_id),
        "parent-snapshot-id": "null" if parent_id is None else str(parent_id),
        "sequence-number": str(sequence),
        "format-version": "2",
    }
    path = new_list_path(snapshot_id)
    store.put(path, avro.encode(_LIST_SCHEMA, manifests, metadata))
    return path


def read_list(store: Store, location: str, root: str) -> list[Record]:
    """The manifests of a snapshot; `root` is the location of the table."""
    return avro.decode(store.get(path_below(location, root)), location)[1]


# --- records ------------------------------------------------------------------------------------


def _entry(
    status: int,
    snapshot_id: int,
    sequence: int | None,
    file_sequence: int | None,
    data_file: Record,
) -> Record:
    return {
        "status": status,
        "snapshot_id": snapshot_id,
        "sequence_number": sequence,
        "file_sequence_number": file_sequence,
        "data_file": data_file,
    }


def _sequences(entry: Record, manifest: Record) -> tuple[int, int]:
    inherited = manifest["sequence_number"]
    known = entry["sequence_number"], entry["file_sequence_number"]
    sequence, file_sequence = (inherited if number is None else number for number in known)
    return sequence, file_sequence


def _counts(entries: Sequence[Record]) -> Record:
    counts = {}
    for status, name in ((ADDED, "added"), (EXISTING, "existing"), (DELETED, "deleted")):
        rows = [e["data_file"]["record_count"] for e in entries if e["status"] == status]
        counts[f"{name}_files_count"] = len(rows)
        counts[f"{name}_rows_count"] = sum(rows)
    return counts


def _summaries(table: IcebergTable, entries: Sequence[Record]) -> list[Record]:
    summaries = []
    names = partition_names(table)
    for name, data_type in zip(names, table.partition_types, strict=True):
        values = (from_avro(e["data_file"]["partition"][name], data_type) for e in entries)
        summaries.append(partition_summary(values, data_type))
    return summaries


# --- schemas ------------------------------------------------------------------------------------


def partition_names(table: IcebergTable) -> list[str]:
    """The partition fields' names in Avro, which knows letters, digits and underscores."""
    return [_avro_name(name) for name in table.partition_columns]


def _avro_name(name: str) -> str:
    """As Iceberg makes names valid: `a-b` is a_x2Db, `1a` is _1a."""
    valid = re.sub(r"[^A-Za-z0-9_]", lambda match: f"_x{ord(match[0]):X}", name)
    return f"_{valid}" if valid[:1].isdigit() else valid


def _field(number: int, name: str, kind: Any) -> Record:
    return {"name": name, "type": kind, "field-id": number}


def _optional(number: int, name: str, kind: Any) -> Record:
    return {"name": name, "type": ["null", kind], "default": None, "field-id": number}


def _map(key_id: int, value_id: int, kind: str) -> Record:
    """Avro's maps have keys of text, so maps by number are lists of pairs."""
    pair = {
        "type": "record",
        "name": f"k{key_id}_v{value_id}",
        "fields": [_field(key_id, "key", "int"), _field(value_id, "value", kind)],
    }
    return {"type": "array", "logicalType": "map", "items": pair}


def _entry_schema(table: IcebergTable) -> Record:
    partition = [
        _optional(spec["field-id"], name, avro_type(data_type, spec["field-id"]))
        for spec, name, data_type in zip(
            table.spec, partition_names(table), table.partition_types, strict=True
        )
    ]
    data_file = [
        _field(134, "content", "int"),
        _field(100, "file_path", "string"),
        _field(101, "file_format", "string"),
        _field(102, "partition", {"type": "record", "name": "r102", "fields": partition}),
        _field(103, "record_count", "long"),
        _field(104, "file_size_in_bytes", "long"),
        _optional(109, "value_counts", _map(119, 120, "long")),
        _optional(110, "null_value_counts", _map(121, 122, "long")),
        _optional(125, "lower_bounds", _map(126, 127, "bytes")),
        _optional(128, "upper_bounds", _map(129, 130, "bytes")),
    ]
    return {
        "type": "record",
        "name": "manifest_entry",
        "fields": [
            _field(0, "status", "int"),
            _optional(1, "snapshot_id", "long"),
            _optional(3, "sequence_number", "long"),
            _optional(4, "file_sequence_number", "long"),
            _field(2, "data_file", {"type": "record", "name": "r2", "fields": data_file}),
        ],
    }


_SUMMARY = {
    "type": "record",
    "name": "r508",
    "fields": [
        _field(509, "contains_null", "boolean"),
        _optional(518, "contains_nan", "boolean"),
        _optional(510, "lower_bound", "bytes"),
        _optional(511, "upper_bound", "bytes"),
    ],
}
_LIST_SCHEMA = {
    "type": "record",
    "name": "manifest_file",
    "fields": [
        _field(500, "manifest_path", "string"),
        _field(501, "manifest_length", "long"),
        _field(502, "partition_spec_id", "int"),
        _field(517, "content", "int"),
        _field(515, "sequence_number", "long"),
        _field(516, "min_sequence_number", "long"),
        _field(503, "added_snapshot_id", "long"),
        _field(504, "added_files_count", "int"),
        _field(505, "existing_files_count", "int"),
        _field(506, "deleted_files_count", "int"),
        _field(512, "added_rows_count", "long"),
        _field(513, "existing_rows_count", "long"),
        _field(514, "deleted_rows_count", "long"),
        _optional(507, "partitions", {"type": "array", "items": _SUMMARY, "element-id": 508}),
    ],
}
