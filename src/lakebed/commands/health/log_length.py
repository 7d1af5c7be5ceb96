"""How much log a reader has to go through, and how much of it is there."""

from __future__ import annotations

from lakebed.commands.health.finding import Finding, Severity, counted, graded, size_text
from lakebed.log.listing.listing import list_log
from lakebed.log.maintenance.checkpoint_hook import checkpoint_interval
from lakebed.log.snapshot import Snapshot

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
