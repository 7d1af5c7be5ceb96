"""What is due after a commit: the checksum file, and at intervals a checkpoint and a clean-up.

A commit that is there has succeeded. Whatever fails here is reported and logged, and never turns
into a failure of the commit: readers need none of these files.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from lakebed.formats.last_checkpoint import LastCheckpoint
from lakebed.log.listing.hint import cleaned_up_to, publish_hint
from lakebed.log.listing.listing import read_hint
from lakebed.log.listing.segment import CheckpointRef, LogSegment
from lakebed.log.maintenance.checkpoint_content import CheckpointContent, content_of
from lakebed.log.maintenance.checkpoint_writer import StoredCheckpoint, current_ms, store_checkpoint
from lakebed.log.maintenance.checksum_writer import write_checksum
from lakebed.log.maintenance.cleanup import clean_up, cut_off, may_clean_up
from lakebed.log.maintenance.symlink_manifests import update_manifests
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Action

_LOG = logging.getLogger("lakebed")
T = TypeVar("T")


@dataclass
class MaintenanceReport:
    """What was done after a commit, and what failed: `errors` maps a step to its error."""

    snapshot: Snapshot
    checksum: bool = False
    checkpoint: CheckpointRef | None = None
    deleted: tuple[str, ...] = ()
    errors: dict[str, Exception] = field(default_factory=dict)


def after_commit(
    snapshot: Snapshot, *, previous: Snapshot | None, now_ms: int | None = None
) -> Snapshot:
    """Do what is due after the commit of `snapshot`; gives the snapshot to go on with."""
    return maintain(snapshot, previous=previous, now_ms=now_ms).snapshot


def maintain(
    snapshot: Snapshot,
    *,
    previous: Snapshot | None,
    now_ms: int | None = None,
    actions: Sequence[Action] = (),
) -> MaintenanceReport:
    """As `after_commit`, and tells what was done. `actions` are those of the commit.

    One small put, unless the version is a multiple of the checkpoint interval: then also a
    checkpoint, the hint and, once a day, a clean-up of the log. `previous` is the version before;
    a table that has none was just created and needs no checkpoint.
    """
    now = current_ms() if now_ms is None else now_ms
    report = MaintenanceReport(snapshot)
    due = previous is not None and bool(try_step(report, "checkpoint", lambda: _is_due(snapshot)))
    report.checksum = bool(
        try_step(report, "checksum", lambda: write_checksum(snapshot, count=due))
    )
    if due:
        try_step(report, "checkpoint", lambda: _checkpoint(report, now))
    try_step(report, "manifest", lambda: update_manifests(snapshot, actions))
    return report


def try_step(report: MaintenanceReport, step: str, work: Callable[[], T]) -> T | None:
    """Do a step after the commit of the report's snapshot; its failure is noted and logged."""
    try:
        return work()
    except Exception as error:  # noqa: BLE001 - the commit is there, whatever happens now
        report.errors[step] = error
        version, url = report.snapshot.version, report.snapshot.store.url
        _LOG.warning(
            "%s: after version %d was committed, its %s failed: %s", url, version, step, error
        )
        return None


def checkpoint_interval(snapshot: Snapshot) -> int:
    """The table's `delta.checkpointInterval`; where it is not set, more for large tables.

    A checkpoint costs as much as the table has files. Every tenth commit of a large table would
    spend most of its time on it. See docs/decisions/0008-checkpoint-interval.md.
    """
    properties, totals = snapshot.properties, snapshot.totals_if_known
    default = properties.checkpoint_interval
    if CHECKPOINT_INTERVAL in snapshot.metadata.configuration or totals is None:
        return default
    return next(
        (default * factor for limit, factor in _GROWTH if totals.num_files < limit),
        default * _GROWTH_LIMIT,
    )


CHECKPOINT_INTERVAL = "delta.checkpointInterval"
_GROWTH = ((1_000, 1), (2_500, 2), (5_000, 5))
_GROWTH_LIMIT = 10


def _is_due(snapshot: Snapshot) -> bool:
    return snapshot.version > 0 and snapshot.version % checkpoint_interval(snapshot) == 0


def _checkpoint(report: MaintenanceReport, now_ms: int) -> None:
    snapshot = report.snapshot
    content = content_of(snapshot, now_ms)
    stored = store_checkpoint(snapshot, content, now_ms=now_ms)
    report.checkpoint = stored.ref
    report.snapshot = _rebased(snapshot, content, stored)
    cleaned = try_step(
        report, "clean-up", lambda: _clean_up(report, read_hint(snapshot.store), now_ms)
    )
    try_step(report, "hint", lambda: publish_hint(snapshot.store, stored.hint, cleaned))


def _rebased(snapshot: Snapshot, content: CheckpointContent, stored: StoredCheckpoint) -> Snapshot:
    segment = LogSegment(snapshot.version, stored.ref, ())
    return snapshot.rebased(segment, content.file_state())


def _clean_up(report: MaintenanceReport, hint: LastCheckpoint | None, now_ms: int) -> int | None:
    """Once per cut-off time: the time is a midnight, so looking again that day finds nothing."""
    snapshot = report.snapshot
    if not may_clean_up(snapshot):
        return None
    moment = cut_off(snapshot, now_ms)
    if cleaned_up_to(hint) != moment:
        report.deleted = tuple(clean_up(snapshot.store, snapshot, now_ms))
    return moment
