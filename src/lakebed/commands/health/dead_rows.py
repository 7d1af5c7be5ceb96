"""Rows that deletion vectors mark as deleted: every scan reads them, and drops them."""

from __future__ import annotations

import pyarrow.compute as pc

from lakebed.commands.health.finding import Finding, Severity, counted, graded, percent
from lakebed.commands.health.remedies import PURGE
from lakebed.log.selection import file_columns
from lakebed.log.snapshot import Snapshot


def dead_rows(snapshot: Snapshot) -> Finding:
    totals = snapshot.totals
    if not totals.num_deletion_vectors:
        return Finding("dead rows", Severity.OK, "no deletion vectors")
    columns = file_columns(snapshot)
    records = pc.sum(columns.num_records()).as_py() or 0
    dead = totals.num_deleted_records
    share = dead / records if records else 0.0
    half = pc.less_equal(pc.multiply(columns.num_rows(), 2), columns.num_records())
    mostly = pc.sum(pc.fill_null(half, False)).as_py() or 0
    message = (
        f"{dead:,} of {records:,} rows ({percent(share)}) are deleted by vectors of "
        f"{counted(totals.num_deletion_vectors, 'file')}; {mostly:,} of these are half dead or more"
    )
    numbers = {"dead_rows": dead, "rows": records, "share": share, "half_dead_files": mostly}
    severity = graded(share, (0.05, 0.2, 0.5))
    return Finding("dead rows", severity, message, PURGE if severity.rank else None, numbers)
