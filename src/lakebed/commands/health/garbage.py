"""Bytes that no row of the newest version is in."""

from __future__ import annotations

import pyarrow.compute as pc

from lakebed.commands.health.finding import Finding, Severity, counted, graded, percent, size_text
from lakebed.commands.vacuum import VacuumOptions, vacuum_table
from lakebed.log.listing.file_locations import FileLocations
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.log.versions.file_lifetimes import read_file_lifetimes

_VACUUM = "table.vacuum()"
# Less is not worth a VACUUM.
_LITTLE = 64 * 1024 * 1024


def tombstones(snapshot: Snapshot, now_ms: int) -> Finding:
    """Files that the log has removed. Whether they are still there only a listing can tell."""
    removed = snapshot.tombstones(["size", "deletionTimestamp"])
    sizes, moments = removed.column("size"), pc.fill_null(removed.column("deletionTimestamp"), 0)
    horizon = now_ms - snapshot.properties.deleted_file_retention_ms
    expired = sizes.filter(pc.less(moments, horizon))
    total, past = (pc.sum(each).as_py() or 0 for each in (sizes, expired))
    message = "none in the log"
    if removed.num_rows:
        message = (
            f"{counted(removed.num_rows, 'removed file')} ({size_text(total)}) in the log, "
            f"{len(expired):,} of them ({size_text(past)}) past the retention"
        )
    numbers = {"files": removed.num_rows, "bytes": total, "expired_bytes": past}
    severity = _grade(past, snapshot)
    return Finding("removed files", severity, message, _VACUUM if severity.rank else None, numbers)


def unused_objects(log: TableLog, snapshot: Snapshot) -> Finding:
    """What a VACUUM would delete now, by listing the table: removed files, and orphans.

    Orphans are of writers that died before they committed, and of older versions whose log is gone.
    """
    plan = vacuum_table(log, VacuumOptions(dry_run=True, record=False, enforce_retention=False))
    lives = read_file_lifetimes(log.store, FileLocations(log.store)).lifetimes
    known = {place for life in lives for place in life.locations}
    orphans = [each for each in plan.objects if each.path not in known]
    size, orphaned = plan.size_in_bytes, sum(each.size for each in orphans)
    live = snapshot.totals.size_in_bytes
    share = f", {percent(size / live)} of the table's size" if live and size else ""
    message = (
        f"VACUUM would free {size_text(size)} in {counted(plan.num_files, 'file')}{share}; "
        f"{counted(len(orphans), 'orphan')} ({size_text(orphaned)}) among them"
    )
    numbers = {
        "files": plan.num_files,
        "bytes": size,
        "orphans": len(orphans),
        "orphan_bytes": orphaned,
    }
    severity = _grade(size, snapshot)
    return Finding("unused files", severity, message, _VACUUM if severity.rank else None, numbers)


def _grade(size: int, snapshot: Snapshot) -> Severity:
    if size < _LITTLE:
        return Severity.OK
    return graded(size / max(snapshot.totals.size_in_bytes, 1), (0.1, 1, 10))
