"""VACUUM from beginning to end.

1. Plan: what may go, and which versions that costs. A dry run ends here.
2. VACUUM START is committed. From now on the history shows it.
3. Files are deleted in batches; before each the commits since the plan are looked at.
4. VACUUM END is committed, with what happened, and `_last_vacuum_info` is written.

Killed anywhere, it has only deleted files that no version inside the retention needs, and the next
run finds what is left.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from lakebed.commands.target.log_only import HANDLED_FEATURES, commit_log_only
from lakebed.commands.vacuum.last_vacuum import remember_vacuum
from lakebed.commands.vacuum.vacuum_options import Retention, VacuumOptions
from lakebed.commands.vacuum.vacuum_plan import Plan, check_request, make_plan
from lakebed.commands.vacuum.vacuum_report import VacuumResult, lost_table
from lakebed.commands.vacuum.vacuum_streams import broken_table
from lakebed.errors import LakebedError
from lakebed.formats import commit_file as commit
from lakebed.log.listing.file_locations import FileLocations, checked_reference
from lakebed.log.listing.listing import list_log, newer_commits
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.log.versions.file_lifetimes import rebuildable_versions
from lakebed.log.versions.history import UNREADABLE_TAG
from lakebed.log.versions.readable import THREADS
from lakebed.spec.version_ranges import ranges_text
from lakebed.storage.store import ObjectMeta, Store
from lakebed.transaction import Operation, Transaction

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
        forecast = _result(plan, options, plan.deletable, plan.rebuildable_after, started)
        _warn_of_streams(forecast)
        return forecast
    if options.record:
        checked = options.enforce_retention
        record_start(log, plan.retention, plan.deletable.values(), checked=checked)
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
    _warn_of_streams(result)
    return result


def _warn_of_streams(result: VacuumResult) -> None:
    """A DataFrame of paths, which is what delta-spark's `vacuum` gives, has no place for them."""
    for row in result.broken_streams.to_pylist():
        verb = "would break" if result.dry_run else "broke"
        _LOG.warning("VACUUM of %s %s the stream %s", result.url, verb, row["checkpoint"])


def _now(log: TableLog, options: VacuumOptions) -> int:
    """A dry run leaves no trace, so it goes by this machine's clock alone."""
    if options.dry_run:
        return own_clock()
    # The store's clock writes an object for a moment: not on a table that is about to be refused.
    check_request(log, options)
    return safe_clock(log.store)


def _delete(log: TableLog, plan: Plan, options: VacuumOptions, now_ms: int) -> list[str]:
    watch = CommitWatch(plan, lambda: make_plan(log, options, now_ms))
    deleted: list[str] = []
    try:
        for path in delete_in_batches(log.store, sorted(plan.deletable), watch):
            deleted.append(path)
    except Exception:
        if options.record:
            _record_failure(log)
        raise
    folders = {path.partition("/")[0] for path in deleted if "/" in path}
    log.store.prune(folders.__contains__)
    return deleted


def _record_failure(log: TableLog) -> None:
    """The error that ended the VACUUM is the one to show, not one of its record."""
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
    gone = [plan.deletable[path] for path in deleted]
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
        broken_streams=broken_table(
            options.streams,
            (found.path for found in gone),
            plan.selection.is_gone,
            min(rebuildable, default=None),
        ),
        seconds=time.monotonic() - started,
    )


# --- the commits VACUUM START and VACUUM END ------------------------------------------------------


def record_start(
    log: TableLog, retention: Retention, deletable: Iterable[ObjectMeta], *, checked: bool
) -> None:
    parameters: dict[str, Any] = {
        "retentionCheckEnabled": checked,
        "defaultRetentionMillis": retention.default_ms,
    }
    if retention.specified_ms is not None:
        parameters["specifiedRetentionMillis"] = retention.specified_ms
    sizes = [found.size for found in deletable]
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


# --- clocks ---------------------------------------------------------------------------------------


def own_clock() -> int:
    return time.time_ns() // 1_000_000


def safe_clock(store: Store) -> int:
    """The earlier of this machine's time and the store's, in milliseconds.

    Files are as old as the store says. A machine whose clock is ahead of it would take what was
    written a moment ago for older than it is. The store tells its time by an object that is written
    for that; one that a killed VACUUM leaves is below the table and goes with a later VACUUM.
    """
    path = f"vacuum-clock-{uuid.uuid4()}"
    before = own_clock()
    store.put(path, b"")
    try:
        return min(before, store.head(path).modified_ms)
    finally:
        store.delete(path)


# --- deleting -------------------------------------------------------------------------------------

BATCH = 1000
_LOCAL_THREADS = 4


class CommitWatch:
    """Spares files that commits after the plan refer to.

    A RESTORE may bring back a file that had expired, and a very slow writer may commit one that
    looks abandoned. If a commit changes the table's properties (a pin, a longer retention) or
    protocol, everything is planned again.
    """

    def __init__(self, plan: Plan, replan: Callable[[], Plan]) -> None:
        self._store = plan.snapshot.store
        self._places = FileLocations(self._store)
        self._seen = plan.snapshot.version
        self._spared: set[str] = set()
        self._replan = replan
        self._allowed: frozenset[str] | None = None

    def allowed(self, paths: list[str]) -> list[str]:
        """Those of the paths that may go as far as is known now."""
        changed = self._look()
        while changed:
            plan = self._replan()
            known = frozenset(plan.deletable)
            self._allowed = known if self._allowed is None else self._allowed & known
            changed = self._look()
        return [path for path in paths if path not in self._spared and self._may_delete(path)]

    def _may_delete(self, path: str) -> bool:
        return self._allowed is None or path in self._allowed

    def _look(self) -> bool:
        """Take in the commits since; whether one of them changes what VACUUM goes by."""
        changed = False
        for file in newer_commits(self._store, self._seen):
            for name, raw in commit.decode(self._store.get(file.path), file.path):
                if name in ("add", "remove"):
                    self._spared.update(self._places.of(*checked_reference(raw, file.path)))
                elif name == "cdc":
                    self._spared.update(self._places.of(checked_reference(raw, file.path)[0], None))
                elif name in ("metaData", "protocol"):
                    changed = True
            self._seen = file.version
        return changed


def delete_in_batches(store: Store, paths: list[str], watch: CommitWatch) -> Iterator[str]:
    """Delete the paths; yields each that is gone. The first failure ends it, after its batch."""
    threads = _LOCAL_THREADS if store.cheap_probes else THREADS
    with ThreadPoolExecutor(threads) as pool:
        for start in range(0, len(paths), BATCH):
            batch = watch.allowed(paths[start : start + BATCH])
            waiting = [(path, pool.submit(_delete_file, store, path)) for path in batch]
            failure: BaseException | None = None
            for path, future in waiting:
                error = future.exception()
                failure = failure or error
                if error is None:
                    yield path
            if failure is not None:
                raise failure


def _delete_file(store: Store, path: str) -> None:
    store.delete(path)
    if store.url.startswith("file:"):
        # Hadoop keeps checksums beside files on a disk; they are hidden from VACUUM.
        folder, slash, name = path.rpartition("/")
        store.delete(f"{folder}{slash}.{name}.crc")
