"""The commits around a VACUUM, with delta-spark's names: VACUUM START and VACUUM END."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from lakebed.commands.target.log_only import HANDLED_FEATURES, commit_log_only
from lakebed.commands.vacuum.vacuum_options import Retention
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.log.versions.history import UNREADABLE_TAG
from lakebed.spec.version_ranges import ranges_text
from lakebed.storage.store import ObjectMeta
from lakebed.transaction import Operation, Transaction


def record_start(
    log: TableLog, retention: Retention, doomed: Iterable[ObjectMeta], *, checked: bool
) -> None:
    parameters: dict[str, Any] = {
        "retentionCheckEnabled": checked,
        "defaultRetentionMillis": retention.default_ms,
    }
    if retention.specified_ms is not None:
        parameters["specifiedRetentionMillis"] = retention.specified_ms
    sizes = [found.size for found in doomed]
    metrics = {"numFilesToDelete": len(sizes), "sizeOfDataToDelete": sum(sizes)}
    _commit(log, "VACUUM START", parameters, metrics)


def record_end(
    log: TableLog, *, num_deleted: int, num_folders: int, unreadable: Iterable[int]
) -> None:
    """Also leaves which versions cannot be read now, for the history to show."""
    text = ranges_text(unreadable)
    tags = {UNREADABLE_TAG: text} if text else {}
    metrics = {"numDeletedFiles": num_deleted, "numVacuumedDirectories": num_folders}
    _commit(log, "VACUUM END", {"status": "COMPLETED"}, metrics, tags)


def record_failure(log: TableLog) -> None:
    _commit(log, "VACUUM END", {"status": "FAILED"}, {})


def _commit(
    log: TableLog,
    name: str,
    parameters: Mapping[str, Any],
    metrics: Mapping[str, Any],
    tags: Mapping[str, str] | None = None,
) -> None:
    operation = Operation(name, parameters, changes_data=False, metrics=metrics, tags=tags or {})

    def make(snapshot: Snapshot) -> Transaction:
        return Transaction(snapshot, operation=operation, handles=HANDLED_FEATURES)

    commit_log_only(log, make)
