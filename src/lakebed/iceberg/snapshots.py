"""The manifests of a new Iceberg snapshot: the last one's with changes, or new ones for all."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from lakebed.formats.file_actions import adds_to_table
from lakebed.iceberg.data_file_records import COLUMNS, data_files
from lakebed.iceberg.iceberg_table import DELTA_TIMESTAMP, DELTA_VERSION, IcebergTable
from lakebed.iceberg.layout import path_below
from lakebed.iceberg.manifests import (
    FILES_PER_MANIFEST,
    Record,
    added_entry,
    carried_entry,
    deleted_entry,
    is_live,
    live_files,
    manifest_bytes,
    may_hold,
    read_list,
    read_manifest,
    write_list,
    write_manifest,
)
from lakebed.iceberg.version_changes import Changes
from lakebed.log.snapshot import Snapshot
from lakebed.storage.store import Store

# So many small manifests make planning slow for readers; then they are put together.
MANY_MANIFESTS = 100
_AT_ONCE = 64
# More texts than this are found faster by decoding the manifest.
_FEW_REMOVED = 64


@dataclass
class Draft:
    """What was written for a snapshot so far. No one knows of it before the metadata file."""

    id: int = 0
    sequence: int = 0
    list_path: str = ""
    written: list[str] = field(default_factory=list)
    num_files: int = 0
    num_bytes: int = 0
    num_rows: int = 0
    added: list[Record] = field(default_factory=list)
    deleted: list[Record] = field(default_factory=list)

    @property
    def changed(self) -> bool:
        return bool(self.added or self.deleted)

    def discard(self, store: Store) -> None:
        """Somebody else was first, for certain: no one will ever name these files."""
        for path in self.written:
            store.delete(path)

    def snapshot(
        self,
        table: IcebergTable,
        operation: str,
        time_ms: int,
        schema_id: int,
        parent: dict[str, Any] | None,
    ) -> dict[str, Any]:
        snapshot: dict[str, Any] = {
            "snapshot-id": self.id,
            "sequence-number": self.sequence,
            "timestamp-ms": time_ms,
            "schema-id": schema_id,
            "manifest-list": table.path(self.list_path),
            "summary": {"operation": operation, **self._summary(table)},
        }
        if parent is not None:
            snapshot["parent-snapshot-id"] = parent["snapshot-id"]
        return snapshot

    def _summary(self, table: IcebergTable) -> dict[str, str]:
        numbers = {
            "added-data-files": len(self.added),
            "added-records": _sum(self.added, "record_count"),
            "added-files-size": _sum(self.added, "file_size_in_bytes"),
            "deleted-data-files": len(self.deleted),
            "deleted-records": _sum(self.deleted, "record_count"),
            "removed-files-size": _sum(self.deleted, "file_size_in_bytes"),
            "total-data-files": self.num_files,
            "total-records": self.num_rows,
            "total-files-size": self.num_bytes,
            "total-delete-files": 0,
            "total-position-deletes": 0,
            "total-equality-deletes": 0,
            DELTA_VERSION: table.version,
            DELTA_TIMESTAMP: table.timestamp_ms,
        }
        return {name: str(number) for name, number in numbers.items()}


def draft_all(snapshot: Snapshot, table: IcebergTable, schema_id: int, sequence: int) -> Draft:
    """Every live file of the Delta version, in manifests of their own."""
    writer = _Writer(snapshot.store, table, schema_id, sequence)
    files = snapshot.files_with_stats(COLUMNS)
    for piece in _pieces(files):
        writer.add(data_files(snapshot.store, table, piece))
    return writer.finish(None)


def draft_changes(
    store: Store,
    table: IcebergTable,
    changes: Changes,
    parent: dict[str, Any],
    schema_id: int,
    sequence: int,
) -> Draft:
    """The manifests of the last snapshot, with the changes since."""
    writer = _Writer(store, table, schema_id, sequence)
    if not changes.added and not changes.removed:
        return writer.unchanged(parent)
    manifests = read_list(store, parent["manifest-list"], table.location)
    live = [manifest for manifest in manifests if is_live(manifest)]
    writer.keep(live, changes.removed, parent)
    if changes.added:
        for piece in _pieces(adds_to_table(list(changes.added.values()))):
            writer.add(data_files(store, table, piece))
    return writer.finish(parent["snapshot-id"])


class _Writer:
    def __init__(self, store: Store, table: IcebergTable, schema_id: int, sequence: int) -> None:
        self._store = store
        self._table = table
        self._schema_id = schema_id
        self._draft = Draft(id=secrets.randbits(62) + 1, sequence=sequence)
        self._manifests: list[Record] = []

    def unchanged(self, parent: dict[str, Any]) -> Draft:
        self._count(parent)
        return self._draft

    def keep(self, manifests: list[Record], removed: set[str], parent: dict[str, Any]) -> None:
        """The manifests without the removed files; small ones together if there are many."""
        self._count(parent)
        touched = dict(self._holding(manifests, removed)) if removed else {}
        merged = _small(manifests)
        pool: list[Record] = []
        for manifest in manifests:
            path = manifest["manifest_path"]
            if path not in touched and path not in merged:
                self._manifests.append(manifest)
                continue
            entries = touched.get(path)
            if entries is None:
                entries = self._read([manifest])[0]
            carried = self._split(entries, manifest, removed)
            if path in merged:
                pool += carried
            else:
                self._write(carried)
        for start in range(0, len(pool), FILES_PER_MANIFEST):
            self._write(pool[start : start + FILES_PER_MANIFEST])

    def add(self, files: list[Record]) -> None:
        draft = self._draft
        self._write([added_entry(file, draft.id) for file in files])
        draft.added += files
        draft.num_files += len(files)
        draft.num_bytes += _sum(files, "file_size_in_bytes")
        draft.num_rows += _sum(files, "record_count")

    def finish(self, parent_id: int | None) -> Draft:
        draft = self._draft
        draft.list_path = write_list(
            self._store, self._manifests, draft.id, parent_id, draft.sequence
        )
        draft.written.append(draft.list_path)
        return draft

    def _count(self, parent: dict[str, Any]) -> None:
        summary, draft = parent["summary"], self._draft
        draft.num_files = int(summary["total-data-files"])
        draft.num_bytes = int(summary["total-files-size"])
        draft.num_rows = int(summary["total-records"])

    def _holding(
        self, manifests: Sequence[Record], removed: set[str]
    ) -> Iterator[tuple[str, list[Record]]]:
        """The manifests that have removed files, with their entries: the newest first."""
        left = set(removed)
        ordered = list(reversed(manifests))
        for start in range(0, len(ordered), _AT_ONCE):
            if not left:
                return
            some = ordered[start : start + _AT_ONCE]
            for manifest, data in zip(
                some, manifest_bytes(self._store, self._table, some), strict=True
            ):
                if len(left) <= _FEW_REMOVED and not may_hold(data, manifest, left):
                    continue
                entries = read_manifest(data, manifest)
                found = {e["data_file"]["file_path"] for e in entries} & left
                if found:
                    left -= found
                    yield manifest["manifest_path"], entries

    def _read(self, manifests: Sequence[Record]) -> list[list[Record]]:
        bodies = manifest_bytes(self._store, self._table, manifests)
        return [read_manifest(body, m) for body, m in zip(bodies, manifests, strict=True)]

    def _split(self, entries: list[Record], manifest: Record, removed: set[str]) -> list[Record]:
        """All entries, those of removed files as deleted ones."""
        draft, rewritten = self._draft, []
        for entry in entries:
            file = entry["data_file"]
            if file["file_path"] not in removed:
                rewritten.append(carried_entry(entry, manifest))
                continue
            rewritten.append(deleted_entry(entry, manifest, draft.id))
            draft.deleted.append(file)
            draft.num_files -= 1
            draft.num_bytes -= file["file_size_in_bytes"]
            draft.num_rows -= file["record_count"]
        return rewritten

    def _write(self, entries: list[Record]) -> None:
        if not entries:
            return
        draft = self._draft
        manifest = write_manifest(
            self._store, self._table, entries, self._schema_id, draft.id, draft.sequence
        )
        draft.written.append(path_below(manifest["manifest_path"], self._table.location))
        self._manifests.append(manifest)


def _small(manifests: Sequence[Record]) -> set[str]:
    """Manifests to put together, if there are many."""
    few = FILES_PER_MANIFEST // 2
    found = {each["manifest_path"] for each in manifests if live_files(each) < few}
    return found if len(found) >= MANY_MANIFESTS else set()


def _pieces(files: pa.Table) -> Iterator[pa.Table]:
    for start in range(0, files.num_rows, FILES_PER_MANIFEST):
        yield files.slice(start, FILES_PER_MANIFEST)


def _sum(files: Sequence[Record], name: str) -> int:
    return sum(file[name] for file in files)
