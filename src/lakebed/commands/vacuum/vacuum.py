"""VACUUM from beginning to end.

1. Plan: what may go, and which versions that costs. A dry run ends here.
2. VACUUM START is committed. From now on whoever looks at the history knows.
3. Files are deleted in batches; before each the commits since the plan are looked at.
4. VACUUM END is committed, with what happened, and `_last_vacuum_info` is written.

Killed anywhere, it has only deleted files that no version inside the retention needs, and the next
run finds what is left.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterable

from lakebed.commands.vacuum.clock import own_clock, safe_clock
from lakebed.commands.vacuum.last_vacuum import remember_vacuum
from lakebed.commands.vacuum.plan import Plan, check_request, make_plan
from lakebed.commands.vacuum.record import record_end, record_failure, record_start
from lakebed.commands.vacuum.sweep import Watch, sweep
from lakebed.commands.vacuum.vacuum_options import VacuumOptions
from lakebed.commands.vacuum.vacuum_report import VacuumResult, lost_table
from lakebed.errors import LakebedError
from lakebed.log.listing.listing import list_log
from lakebed.log.table_log import TableLog
from lakebed.log.versions.file_lifetimes import rebuildable_versions

_LOG = logging.getLogger("lakebed")


def vacuum_table(
    log: TableLog, options: VacuumOptions | None = None, *, now_ms: int | None = None
) -> VacuumResult:
    """Delete what no version inside the retention needs; what went and what that costs.

    `now_ms` stands in for the clocks.
    """
    options = options or VacuumOptions()
    started = time.monotonic()
    now = _now(log, options) if now_ms is None else now_ms
    plan = make_plan(log, options, now)
    if options.dry_run:
        return _result(plan, options, plan.doomed, plan.rebuildable_after, started)
    if options.record:
        checked = options.enforce_retention
        record_start(log, plan.retention, plan.doomed.values(), checked=checked)
    deleted = _delete(log, plan, options, now)
    if options.record:
        record_end(
            log,
            num_deleted=len(deleted),
            num_folders=plan.selection.num_folders,
            unreadable=plan.unreadable_after(deleted),
        )
    if options.inventory is None:
        remember_vacuum(log.store, plan.settled(deleted))
    rebuildable = rebuildable_versions(list_log(log.store))
    result = _result(plan, options, deleted, rebuildable, started)
    _LOG.info("%r", result)
    return result


def _now(log: TableLog, options: VacuumOptions) -> int:
    """A dry run leaves no trace, so it goes by this machine's clock alone."""
    if options.dry_run:
        return own_clock()
    # The store's clock leaves one for a moment: not on a table that is about to be refused.
    check_request(log, options)
    return safe_clock(log.store)


def _delete(log: TableLog, plan: Plan, options: VacuumOptions, now_ms: int) -> list[str]:
    watch = Watch(plan, lambda: make_plan(log, options, now_ms))
    deleted: list[str] = []
    try:
        for path in sweep(log.store, sorted(plan.doomed), watch):
            deleted.append(path)
    except Exception:
        if options.record:
            _record_failure(log)
        raise
    folders = {path.partition("/")[0] for path in deleted if "/" in path}
    log.store.prune(folders.__contains__)
    return deleted


def _record_failure(log: TableLog) -> None:
    """The error that ended the VACUUM is the one to show, not that of a note about it."""
    try:
        record_failure(log)
    except LakebedError as error:
        _LOG.warning("%s: VACUUM END was not committed: %s", log.store.url, error)


def _result(
    plan: Plan,
    options: VacuumOptions,
    deleted: Iterable[str],
    rebuildable: Collection[int],
    started: float,
) -> VacuumResult:
    gone = [plan.doomed[path] for path in deleted]
    unreadable = plan.unreadable_after(found.path for found in gone)
    lost = {v for v in plan.readable_before if v in unreadable or v not in rebuildable}
    return VacuumResult(
        url=plan.snapshot.store.url,
        dry_run=options.dry_run,
        mode="inventory" if options.inventory is not None else options.mode,
        retention_ms=plan.retention.ms,
        cut_off_ms=plan.cut_off_ms,
        objects=tuple(sorted(gone)),
        num_folders=plan.selection.num_folders,
        lost_versions=lost_table(lost, plan.time_of),
        unreadable_versions=tuple(sorted(unreadable & set(rebuildable))),
        pins=plan.pins,
        seconds=time.monotonic() - started,
    )
