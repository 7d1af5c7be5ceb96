"""From which version to which each file is part of the table: the whole history in one pass.

Every question about old versions (what keeps them readable, what they lose by a deletion) is a
question about these intervals. The pass reads the oldest checkpoint that is needed and every
commit once, whatever the number of versions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lakebed.errors import LogCorruptedError, ObjectNotFoundError
from lakebed.formats import commit_file as commit
from lakebed.log.listing.file_keys import file_key
from lakebed.log.listing.file_locations import FileLocations, checked_reference
from lakebed.log.listing.listing import list_log
from lakebed.log.listing.log_names import LogFile
from lakebed.log.listing.segment import build_segment, complete_checkpoints
from lakebed.log.snapshot import Snapshot
from lakebed.storage.store import Store

_AT_ONCE = 256
_ATTEMPTS = 3


class FileLifetime(NamedTuple):
    """A file, with its vector, is in all versions from `first` to `last`.

    `removed_by` is the version whose commit removed it; None if no commit that is left did.
    """

    locations: tuple[str, ...]
    first: int
    last: int
    removed_by: int | None


class ChangeFile(NamedTuple):
    """A change data file of the commit of a version."""

    location: str
    version: int


@dataclass
class FileLifetimes:
    """`versions` are those that the log can rebuild, in order; `files` is the log as listed."""

    files: list[LogFile] = field(default_factory=list)
    versions: list[int] = field(default_factory=list)
    lifetimes: list[FileLifetime] = field(default_factory=list)
    changes: list[ChangeFile] = field(default_factory=list)


def read_file_lifetimes(store: Store, locations: FileLocations) -> FileLifetimes:
    """The history of a table's files. A log that is cleaned up meanwhile is read again."""
    for _ in range(_ATTEMPTS - 1):
        try:
            return _Pass(store, locations).run()
        except ObjectNotFoundError:
            continue
    return _Pass(store, locations).run()


def rebuildable_versions(files: Sequence[LogFile]) -> set[int]:
    """The versions that the log can rebuild, by the names of its files alone."""
    commits = {file.version: file for file in files if file.kind == "commit"}
    found: set[int] = set()
    for start in _starts(files):
        if start not in found:
            found.add(start)
            found.update(file.version for file in _chain(commits, start + 1))
    return found


class _Pass:
    def __init__(self, store: Store, locations: FileLocations) -> None:
        self._store = store
        self._locations = locations
        self._open: dict[str, tuple[tuple[str, ...], int]] = {}
        self.found = FileLifetimes(list_log(store))

    def run(self) -> FileLifetimes:
        commits = {file.version: file for file in self.found.files if file.kind == "commit"}
        for start in _starts(self.found.files):
            if not self.found.versions or start > self.found.versions[-1]:
                self._run_from(start, commits)
        return self.found

    def _run_from(self, start: int, commits: Mapping[int, LogFile]) -> None:
        """The versions from `start` on as far as commits follow each other and are intact."""
        # Version 0 needs no checkpoint: its commit says it all.
        upcoming = start if start == 0 and 0 in commits else start + 1
        if upcoming > start and not self._checkpoint(start):
            return
        chain = _chain(commits, upcoming)
        for file, data in self._bodies(chain):
            try:
                actions = list(commit.decode(data, file.path))
                self._apply(file, actions)
            except LogCorruptedError:
                # Versions from here to the next checkpoint cannot be rebuilt by anybody.
                break
            self.found.versions.append(file.version)
        self._end_run()

    def _checkpoint(self, version: int) -> bool:
        try:
            snapshot = Snapshot(self._store, build_segment(self.found.files, version))
            rows = snapshot.files(["path", "deletionVector"]).to_pylist()
        except LogCorruptedError:
            return False
        for row in rows:
            self._add(version, row["path"], row["deletionVector"])
        self.found.versions.append(version)
        return True

    def _bodies(self, chain: Sequence[LogFile]) -> Iterator[tuple[LogFile, bytes]]:
        for start in range(0, len(chain), _AT_ONCE):
            part = chain[start : start + _AT_ONCE]
            bodies = self._store.get_many([file.path for file in part])
            yield from zip(part, bodies, strict=True)

    def _apply(self, file: LogFile, actions: Sequence[tuple[str, dict[str, Any]]]) -> None:
        """In the order of the lines: where two name a file, the later counts."""
        for name, raw in actions:
            if name in ("add", "remove", "cdc"):
                path, vector = checked_reference(raw, file.path)
                if name == "add":
                    self._add(file.version, path, vector)
                elif name == "remove":
                    self._remove(file.version, path, vector)
                else:
                    location = self._locations.locate(path)
                    self.found.changes.append(ChangeFile(location, file.version))

    def _add(self, version: int, path: str, vector: Mapping[str, Any] | None) -> None:
        key = file_key(path, vector)
        if key not in self._open:
            self._open[key] = (self._locations.of(path, vector), version)

    def _remove(self, version: int, path: str, vector: Mapping[str, Any] | None) -> None:
        locations, first = self._open.pop(file_key(path, vector), ((), version))
        if locations:
            self.found.lifetimes.append(FileLifetime(locations, first, version - 1, version))

    def _end_run(self) -> None:
        last = self.found.versions[-1] if self.found.versions else -1
        for locations, first in self._open.values():
            self.found.lifetimes.append(FileLifetime(locations, first, last, None))
        self._open.clear()


def _starts(files: Sequence[LogFile]) -> list[int]:
    """Versions that need no commit before them: 0, and those with a complete checkpoint."""
    checkpoints: dict[int, list[LogFile]] = {}
    for file in files:
        if file.kind == "checkpoint":
            checkpoints.setdefault(file.version, []).append(file)
    first = {0} if any(file.kind == "commit" and file.version == 0 for file in files) else set()
    return sorted(first | set(complete_checkpoints(checkpoints)))


def _chain(commits: Mapping[int, LogFile], version: int) -> list[LogFile]:
    chain = []
    while version in commits:
        chain.append(commits[version])
        version += 1
    return chain
