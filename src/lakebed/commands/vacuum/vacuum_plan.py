"""What a VACUUM would delete, and what each version would lose by it. Changes nothing.

delta-spark keeps a file while it is live, while its tombstone is younger than the cut-off, or
while it is young itself. That loses versions inside the retention where a writer's clock was
behind, or where a checkpoint has dropped tombstones that a longer retention still needs. So here
also every file stays that any version from the cut-off on has, by the log itself; and every file
of a pinned version.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow.compute as pc

from lakebed.commands.target.log_only import HANDLED_FEATURES
from lakebed.commands.vacuum.vacuum_options import Retention, VacuumOptions, retention_of
from lakebed.commands.vacuum.vacuum_selection import Selection, select
from lakebed.errors import ObjectNotFoundError, VersionNotFoundError
from lakebed.iceberg import referenced_paths
from lakebed.log.listing.checkpoint_hint import cleaned_up_to
from lakebed.log.listing.commit_times import CommitTimes
from lakebed.log.listing.file_locations import FileLocations, is_outside
from lakebed.log.listing.listing import read_hint
from lakebed.log.listing.log_names import LogFile
from lakebed.log.maintenance.checkpoint_hook import checkpoint_interval
from lakebed.log.maintenance.cleanup import cleaned_before
from lakebed.log.maintenance.cleanup import cut_off as clean_up_cut_off
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.log.versions.file_lifetimes import FileLifetimes, read_file_lifetimes
from lakebed.log.versions.readable import unreadable_versions
from lakebed.spec.features import check_writable
from lakebed.spec.pins import pins_of
from lakebed.storage.store import ObjectMeta


@dataclass(frozen=True)
class Protected:
    """FileLocations that stay. `retained` are those of versions inside the retention."""

    retained: frozenset[str]
    others: frozenset[str]
    outside_names: frozenset[str] = field(default_factory=frozenset)

    def __contains__(self, path: object) -> bool:
        """Also what has the name of a file that the log has by an address elsewhere.

        The address may be another spelling of this very folder: a link, a mount, an alias of the
        store. A name that no two files share costs nothing to respect.
        """
        if path in self.retained or path in self.others:
            return True
        names = self.outside_names
        return bool(names) and isinstance(path, str) and path.rpartition("/")[2] in names


@dataclass(frozen=True)
class Plan:
    """`floor` is the version that was current at the cut-off; None if all are younger. Before
    `log_floor` the log goes, because it is cleaned up after the commits of VACUUM itself.
    """

    snapshot: Snapshot
    retention: Retention
    cut_off_ms: int
    floor: int | None
    pins: dict[str, int]
    history: FileLifetimes
    protected: Protected
    selection: Selection
    log_floor: int | None
    recorded_lost: frozenset[int] = frozenset()
    """What earlier runs recorded as lost; for VACUUM LITE, which does not list the files."""

    @property
    def deletable(self) -> dict[str, ObjectMeta]:
        return self.selection.deletable

    @cached_property
    def unreadable_before(self) -> set[int]:
        return unreadable_versions(self.history, self.selection.is_gone)

    def unreadable_after(self, deleted: Iterable[str]) -> set[int]:
        gone, known = set(deleted), self.selection.is_gone
        return unreadable_versions(self.history, lambda place: place in gone or known(place))

    @property
    def readable_before(self) -> set[int]:
        return set(self.history.versions) - self.unreadable_before - self.recorded_lost

    @property
    def rebuildable_after(self) -> set[int]:
        """As foreseen; with other writers, when the log is cleaned up is not ours to say."""
        return {version for version in self.history.versions if version >= (self.log_floor or 0)}

    @cached_property
    def _commits(self) -> list[LogFile]:
        return newest_commits(self.history.files)

    @cached_property
    def _times(self) -> CommitTimes:
        return CommitTimes(self.snapshot.store, self._commits, self.snapshot.properties)

    def time_of(self, version: int) -> int | None:
        """When a version was committed; None where its commit is gone."""
        commits = self._commits
        if not commits or not commits[0].version <= version <= commits[-1].version:
            return None
        try:
            return self._times.time_of(version)
        except ObjectNotFoundError:
            return None

    def settled(self, deleted: Iterable[str]) -> int | None:
        """Up to which commit all removed files are gone, if `deleted` are: for VACUUM LITE."""
        if self.floor is None:
            return None
        gone = set(deleted)
        settled = self.floor
        for life in self.history.lifetimes:
            if life.removed_by is None or life.removed_by > settled:
                continue
            if any(self._is_left(place, gone) for place in life.locations):
                settled = life.removed_by - 1
        return settled

    def _is_left(self, place: str, deleted: set[str]) -> bool:
        """Whether a removed file is still there, and no later commit will remove it once more."""
        if is_outside(place) or place in deleted or place in self.protected.retained:
            return False
        return not self.selection.is_gone(place)


def make_plan(log: TableLog, options: VacuumOptions, now_ms: int) -> Plan:
    """The plan for the newest version. Objects are listed before the log is read: a commit that
    comes in between is seen, a file that comes in between is not.
    """
    snapshot, retention = check_request(log, options)
    cut_off = now_ms - retention.ms
    pins = pins_of(snapshot.metadata.configuration)
    selector = select(snapshot, options, cut_off)
    places = FileLocations(snapshot.store)
    history = read_file_lifetimes(snapshot.store, places)
    floor = _version_at(snapshot, history.files, cut_off)
    _check_pins(pins, history)
    protected = _protected(snapshot, history, places, floor, cut_off, set(pins.values()))
    selection = selector(history, floor, protected)
    log_floor = _log_floor(snapshot, now_ms) if options.record else None
    lost = _recorded_lost(log) if options.mode == "lite" else frozenset[int]()
    return Plan(
        snapshot, retention, cut_off, floor, pins, history, protected, selection, log_floor, lost
    )


def _recorded_lost(log: TableLog) -> frozenset[int]:
    rows = log.history().select(["version", "readable"]).to_pylist()
    return frozenset(row["version"] for row in rows if row["readable"] is False)


def check_request(log: TableLog, options: VacuumOptions) -> tuple[Snapshot, Retention]:
    """The newest version and its retention, if VACUUM may touch the table and keeps enough of it.

    PROTOCOL: Writer Requirements for Vacuum Protocol Check.
    """
    snapshot = log.snapshot()
    check_writable(snapshot.protocol, snapshot.metadata, handles=HANDLED_FEATURES)
    return snapshot, retention_of(options, snapshot.properties)


def newest_commits(files: Iterable[LogFile]) -> list[LogFile]:
    """The commits that follow each other up to the newest."""
    commits = [file for file in files if file.kind == "commit"]
    start = len(commits) - 1
    while start > 0 and commits[start - 1].version == commits[start].version - 1:
        start -= 1
    return commits[max(start, 0) :]


def _log_floor(snapshot: Snapshot, now_ms: int) -> int | None:
    """Where the log starts after VACUUM START and VACUUM END, if one of them makes a checkpoint."""
    interval = checkpoint_interval(snapshot)
    if all((snapshot.version + step) % interval for step in (1, 2)):
        return None
    if cleaned_up_to(read_hint(snapshot.store)) == clean_up_cut_off(snapshot, now_ms):
        return None
    return cleaned_before(snapshot.store, snapshot, now_ms)


def _version_at(snapshot: Snapshot, files: Iterable[LogFile], cut_off: int) -> int | None:
    commits = newest_commits(files)
    if not commits:
        return None
    return CommitTimes(snapshot.store, commits, snapshot.properties).newest_until(cut_off)


def _check_pins(pins: dict[str, int], history: FileLifetimes) -> None:
    known = set(history.versions)
    for name, version in pins.items():
        if version not in known:
            raise VersionNotFoundError(
                f"version {version}, which is pinned as {name!r}, can no longer be rebuilt: which "
                "files it needs is not known",
                hint=f"unpin {name!r}, or restore the log of the table",
            )


def _protected(
    snapshot: Snapshot,
    history: FileLifetimes,
    places: FileLocations,
    floor: int | None,
    cut_off: int,
    pins: set[int],
) -> Protected:
    retained, others = set[str](), set[str]()
    for life in history.lifetimes:
        if floor is None or life.last >= floor:
            retained.update(life.locations)
        elif any(life.first <= version <= life.last for version in pins):
            others.update(life.locations)
    for change in history.changes:
        if floor is None or change.version > floor:
            retained.add(change.location)
    # The newest version once more, by the snapshot that readers use.
    for row in snapshot.files(["path", "deletionVector"]).to_pylist():
        retained.update(places.of(row["path"], row["deletionVector"]))
    others.update(_tombstones(snapshot, places, cut_off))
    others.update(referenced_paths(snapshot))
    names = (place.rpartition("/")[2] for place in retained | others if is_outside(place))
    return Protected(frozenset(retained), frozenset(others), frozenset(names))


def _tombstones(snapshot: Snapshot, places: FileLocations, cut_off: int) -> Iterable[str]:
    """Those that have not expired; without a time they count as of 1970."""
    found = snapshot.tombstones(["path", "deletionVector", "deletionTimestamp"])
    if found.num_rows:
        times = pc.fill_null(found.column("deletionTimestamp"), 0)
        found = found.filter(pc.greater_equal(times, cut_off))
    for row in found.to_pylist():
        yield from places.of(row["path"], row["deletionVector"])
