"""Looks at a table from all sides. Reads the log; with `orphans` it lists the table too."""

from __future__ import annotations

import time
from collections.abc import Sequence

from lakebed.commands.health.dead_rows import dead_rows
from lakebed.commands.health.garbage import tombstones, unused_objects
from lakebed.commands.health.health_report import Health
from lakebed.commands.health.log_length import checkpoint_lag, log_length
from lakebed.commands.health.missing_statistics import missing_statistics
from lakebed.commands.health.size_findings import partition_skew, size_skew, small_files
from lakebed.errors import InvalidArgumentError
from lakebed.log.table_log import TableLog


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
