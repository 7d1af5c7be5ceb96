"""The health report of a table: its files, what VACUUM would free, and its log.

Reads the log; with `orphans` it lists the table too.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import pyarrow.compute as pc

from lakebed.commands.health.file_findings import (
    dead_rows,
    missing_statistics,
    partition_skew,
    size_skew,
    small_files,
)
from lakebed.commands.health.finding import Finding, Severity, counted, graded, percent, size_text
from lakebed.commands.health.health_report import Health
from lakebed.commands.vacuum.vacuum import vacuum_table
from lakebed.commands.vacuum.vacuum_options import VacuumOptions
from lakebed.errors import InvalidArgumentError
from lakebed.log.listing.file_locations import FileLocations
from lakebed.log.listing.listing import list_log
from lakebed.log.maintenance.checkpoint_hook import checkpoint_interval
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.log.versions.file_lifetimes import read_file_lifetimes


def table_health(
    log: TableLog,
    columns: Sequence[str] | None = None,
    *,
    orphans: bool = False,
    now_ms: int | None = None,
) -> Health:
    """The health of the newest version. `columns` are those that queries filter by."""
    if isinstance(columns, str) or not isinstance(columns, Sequence | None):
        raise InvalidArgumentError(
            f"columns={columns!r} is not a list of names", hint="give for example ['id', 'day']"
        )
    snapshot = log.snapshot()
    now = int(time.time() * 1000) if now_ms is None else now_ms
    findings = [
        small_files(snapshot),
        size_skew(snapshot),
        partition_skew(snapshot),
        missing_statistics(snapshot, columns),
        dead_rows(snapshot),
        unused_objects(log, snapshot) if orphans else tombstones(snapshot, now),
        checkpoint_lag(snapshot),
        log_length(snapshot),
    ]
    findings.sort(key=lambda each: -each.severity.rank)
    totals = snapshot.totals
    return Health(
        log.store.url, snapshot.version, totals.num_files, totals.size_in_bytes, tuple(findings)
    )


# --- files that VACUUM deletes --------------------------------------------------------------------

_VACUUM = "table.vacuum()"
# Less is not worth a VACUUM.
_LITTLE = 64 * 1024 * 1024


def tombstones(snapshot: Snapshot, now_ms: int) -> Finding:
    """Files that the log has removed. Whether they are still there only a listing can tell."""
    removed = snapshot.tombstones(["size", "deletionTimestamp"])
    sizes, times = removed.column("size"), pc.fill_null(removed.column("deletionTimestamp"), 0)
    horizon = now_ms - snapshot.properties.deleted_file_retention_ms
    expired = sizes.filter(pc.less(times, horizon))
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


# --- the log --------------------------------------------------------------------------------------

_CLEAN_UP = "delta.enableExpiredLogCleanup"
_WEEK_MS = 7 * 24 * 3_600_000
_SHORTEN = "table.set_properties({'delta.logRetentionDuration': 'interval 7 days'})"
_COMMIT_LESS = "commit less often: larger writes, or a longer trigger of the stream"


def checkpoint_lag(snapshot: Snapshot) -> Finding:
    """Whoever opens the table reads every commit since the checkpoint."""
    ref = snapshot.segment.checkpoint
    lag = snapshot.version - (-1 if ref is None else ref.version)
    interval = checkpoint_interval(snapshot)
    since = "no checkpoint yet" if ref is None else f"checkpoint at version {ref.version}"
    message = f"{since}, {counted(lag, 'commit')} to read since; one is due every {interval}"
    numbers = {"commits": lag, "interval": interval}
    severity = graded(lag, (interval + 1, 2 * interval + 1, 10 * interval + 1))
    mend = None if severity is Severity.OK else "table.checkpoint()"
    return Finding("checkpoint", severity, message, mend, numbers)


def log_length(snapshot: Snapshot) -> Finding:
    """Listing the log, the history and time travel by a timestamp go through all of it."""
    files = list_log(snapshot.store)
    commits = sum(file.kind == "commit" for file in files)
    size = sum(file.size for file in files)
    message = f"{counted(commits, 'commit')}, {size_text(size)} in {counted(len(files), 'file')}"
    numbers = {"commits": commits, "files": len(files), "bytes": size}
    if not snapshot.properties.enable_expired_log_cleanup and commits >= 1_000:
        return Finding(
            "log length",
            graded(commits, (0, 1_000, 100_000)),
            f"{message}; {_CLEAN_UP} is false, so it only grows",
            f"table.set_properties({{{_CLEAN_UP!r}: 'true'}})",
            numbers,
        )
    severity = graded(commits, (10_000, 50_000, 500_000))
    mend = _SHORTEN if snapshot.properties.log_retention_ms > _WEEK_MS else _COMMIT_LESS
    return Finding("log length", severity, message, mend if severity.rank else None, numbers)
