"""FSCK REPAIR TABLE: a log that names files which are gone stops doing so.

Files may go by hand, by a rule of a store, or by a VACUUM of another engine; then every read of the
table fails. Their entries are removed, and with them rows that can no longer be read. An entry
whose data is there but whose deletion vector is gone stays: it is not known which of its rows are
deleted. To remove it would lose rows, and to keep it without its vector would bring some back.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import pyarrow as pa

from lakebed.commands.target.live_files import missing, whole_files
from lakebed.commands.target.log_only import HANDLED_FEATURES, commit_log_only
from lakebed.errors import AppendOnlyError
from lakebed.formats.file_actions import adds_from_table
from lakebed.log.listing.file_locations import FileLocations
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.spec.actions import Add, Remove
from lakebed.transaction import IsolationLevel, Operation, Transaction

FSCK_SCHEMA = pa.schema(
    [
        ("dataFilePath", pa.string()),
        ("dataFileMissing", pa.bool_()),
        ("deletionVectorPath", pa.string()),
        ("deletionVectorFileMissing", pa.bool_()),
    ]
)


@dataclass(frozen=True)
class _Broken:
    """A live file of which something is not there."""

    add: Add
    data_missing: bool
    vector: str | None
    vector_missing: bool


def repair_table(
    log: TableLog, *, dry_run: bool = False, user_metadata: str | None = None
) -> pa.Table:
    """Which files are broken, `FSCK_SCHEMA`; unless it is a dry run their entries are gone now."""
    found: list[_Broken] = []

    def make(snapshot: Snapshot) -> Transaction | None:
        found[:] = _broken(snapshot)
        gone = [each.add for each in found if each.data_missing]
        return None if dry_run or not gone else _removal(snapshot, gone, user_metadata)

    commit_log_only(log, make)
    rows = [
        {
            "dataFilePath": each.add.path,
            "dataFileMissing": each.data_missing,
            "deletionVectorPath": each.vector,
            "deletionVectorFileMissing": each.vector_missing,
        }
        for each in found
    ]
    return pa.Table.from_pylist(rows, schema=FSCK_SCHEMA)


def _broken(snapshot: Snapshot) -> list[_Broken]:
    adds = adds_from_table(whole_files(snapshot))
    gone = set(missing(snapshot.store, adds))
    if not gone:
        return []
    places = FileLocations(snapshot.store)
    found = []
    for add in adds:
        raw = None if add.deletion_vector is None else add.deletion_vector.to_json()
        data, *vectors = places.of(add.path, raw)
        vector = vectors[0] if vectors else None
        if data in gone or vector in gone:
            found.append(_Broken(add, data in gone, vector, vector in gone))
    return found


def _removal(snapshot: Snapshot, gone: list[Add], user_metadata: str | None) -> Transaction:
    if snapshot.properties.append_only:
        raise AppendOnlyError(
            f"{snapshot.store.url} is append-only: entries of {len(gone)} files that are gone "
            "cannot be removed",
            hint="set delta.appendOnly to false first",
        )
    now = int(time.time() * 1000)
    transaction = Transaction(
        snapshot,
        operation=Operation("FSCK", {"dryRun": False}),
        isolation=IsolationLevel.SERIALIZABLE,
        user_metadata=user_metadata,
        handles=HANDLED_FEATURES,
    )
    transaction.read_paths(gone)
    transaction.stage(*(Remove.of(add, timestamp=now) for add in gone))
    transaction.metrics(
        {"numRemovedFiles": len(gone), "numRemovedBytes": sum(add.size for add in gone)}
    )
    return transaction
