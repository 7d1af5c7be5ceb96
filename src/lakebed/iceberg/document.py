"""The table metadata: `v<N>.metadata.json` (Iceberg Spec: Table Metadata), version 2."""

from __future__ import annotations

from typing import Any

from lakebed.iceberg.iceberg_schema import FIRST_PARTITION_ID, types_by_id
from lakebed.iceberg.iceberg_table import (
    DELTA_TIMESTAMP,
    DELTA_VERSION,
    MAX_PREVIOUS,
    IcebergTable,
)
from lakebed.iceberg.layout import Document, metadata_path

MOST_SNAPSHOTS = 100
_PREVIOUS_VERSIONS = 100


def delta_version(document: Document | None) -> int | None:
    """The Delta version that a document shows; None for documents of other writers."""
    properties = {} if document is None else document.get("properties")
    text = properties.get(DELTA_VERSION, "") if isinstance(properties, dict) else ""
    return int(text) if isinstance(text, str) and text.isascii() and text.isdigit() else None


def is_of(document: Document, table: IcebergTable) -> bool:
    """Whether a document is ours, about this very table at this very place, and whole."""
    same = document.get("table-uuid") == table.uuid and document.get("format-version") == 2
    if not same or document.get("location") != table.location or delta_version(document) is None:
        return False
    return _is_whole(document)


def can_go_on(document: Document, table: IcebergTable) -> bool:
    """Whether its manifests can be kept: the same partitions, and no column of another type.

    Bounds in manifests are in the bytes of their column's type at that time.
    """
    if current_snapshot(document) is None:
        return False
    specs = document["partition-specs"]
    fields = [(f["source-id"], f["field-id"]) for f in specs[-1]["fields"]]
    if len(specs) != 1 or fields != [(f["source-id"], f["field-id"]) for f in table.spec]:
        return False
    before, now = types_by_id(_current_fields(document)), types_by_id(table.fields)
    return all(now.get(number, kind) == kind for number, kind in before.items())


def current_snapshot(document: Document) -> dict[str, Any] | None:
    wanted = document.get("current-snapshot-id")
    snapshots = document.get("snapshots") or []
    return next((each for each in snapshots if each["snapshot-id"] == wanted), None)


def schema_id(base: Document | None, table: IcebergTable) -> int:
    """That of the same schema if there was one, else the next."""
    schemas = [] if base is None else base["schemas"]
    same = (each["schema-id"] for each in schemas if each["fields"] == table.fields)
    newest = max((each["schema-id"] for each in schemas), default=-1)
    return next(same, newest + 1)


def make_document(
    base: Document | None,
    table: IcebergTable,
    snapshot: dict[str, Any] | None,
    now_ms: int,
    *,
    sequence: int,
    retention_ms: int,
    previous: tuple[int, Document] | None,
) -> Document:
    """The next document. `base` is the one that it goes on from, `snapshot` a new one if any.

    `previous` is the metadata file before, with its number, whether or not it is gone on from.
    """
    snapshots = [] if base is None else list(base["snapshots"])
    current = snapshot or (None if base is None else current_snapshot(base))
    assert current is not None
    kept = _unexpired(snapshots, current, now_ms - min(retention_ms, table.retention_ms))
    number = schema_id(base, table)
    return {
        "format-version": 2,
        "table-uuid": table.uuid,
        "location": table.location,
        "last-sequence-number": sequence,
        "last-updated-ms": now_ms,
        "last-column-id": max(table.last_column_id, (base or {}).get("last-column-id", 0)),
        "current-schema-id": number,
        "schemas": _schemas(base, table, number),
        "default-spec-id": 0,
        "partition-specs": [{"spec-id": 0, "fields": table.spec}],
        "last-partition-id": FIRST_PARTITION_ID + len(table.spec) - 1,
        "default-sort-order-id": 0,
        "sort-orders": [{"order-id": 0, "fields": []}],
        "properties": dict(table.properties),
        "current-snapshot-id": current["snapshot-id"],
        "refs": {"main": {"snapshot-id": current["snapshot-id"], "type": "branch"}},
        "snapshots": kept,
        "snapshot-log": [
            {"snapshot-id": each["snapshot-id"], "timestamp-ms": each["timestamp-ms"]}
            for each in kept
        ],
        "metadata-log": _metadata_log(table, previous),
    }


def later_than(base: Document | None, now_ms: int) -> int:
    """A time for the next document: never before that of the last, whatever the clocks say."""
    before: int = (base or {}).get("last-updated-ms", 0)
    return max(now_ms, before)


def _is_whole(document: Document) -> bool:
    """Whether everything is there that the next document and the clean-up ask for."""
    try:
        numbers = [document["last-sequence-number"], document["last-updated-ms"]]
        for each in document["snapshots"]:
            numbers += [each["snapshot-id"], each["sequence-number"], each["timestamp-ms"]]
            numbers += [int(each["summary"][name]) for name in _SUMMED]
            texts = [each["manifest-list"], *(e["metadata-file"] for e in document["metadata-log"])]
            if not all(isinstance(text, str) for text in texts):
                return False
        types_by_id(_current_fields(document))
        _ = [(f["source-id"], f["field-id"]) for f in document["partition-specs"][-1]["fields"]]
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, StopIteration):
        return False
    return all(isinstance(number, int) for number in numbers)


_SUMMED = ("total-data-files", "total-files-size", "total-records", DELTA_TIMESTAMP)


def _unexpired(
    snapshots: list[dict[str, Any]], current: dict[str, Any], oldest_ms: int
) -> list[dict[str, Any]]:
    """Snapshots of Delta versions whose files VACUUM keeps, and the current one."""
    others = [
        each
        for each in snapshots
        if each is not current and int(each["summary"][DELTA_TIMESTAMP]) >= oldest_ms
    ]
    return [*others[-(MOST_SNAPSHOTS - 1) :], current]


def _schemas(base: Document | None, table: IcebergTable, number: int) -> list[dict[str, Any]]:
    before = [] if base is None else [s for s in base["schemas"] if s["schema-id"] != number]
    schema = {"type": "struct", "schema-id": number, "fields": table.fields}
    return sorted([*before, schema], key=lambda each: int(each["schema-id"]))


def _current_fields(document: Document) -> list[dict[str, Any]]:
    number = document["current-schema-id"]
    fields: list[dict[str, Any]] = next(
        schema["fields"] for schema in document["schemas"] if schema["schema-id"] == number
    )
    return fields


def _metadata_log(
    table: IcebergTable, previous: tuple[int, Document] | None
) -> list[dict[str, Any]]:
    if previous is None:
        return []
    number, document = previous
    last = {
        "timestamp-ms": document.get("last-updated-ms", 0),
        "metadata-file": table.path(metadata_path(number)),
    }
    log = [*document.get("metadata-log", []), last]
    asked = table.properties.get(MAX_PREVIOUS, "")
    most = int(asked) if asked.isascii() and asked.isdigit() and int(asked) else _PREVIOUS_VERSIONS
    return log[-most:]
