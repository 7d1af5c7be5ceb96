"""What a stream reads from: the commits of its table, and the version that it begins with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from lakebed.errors import SourceDataLossError, VersionNotFoundError
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.streaming.source.admission import Admission
from lakebed.streaming.source.indexed_file import IndexedFile
from lakebed.streaming.source.initial_files import InitialFiles
from lakebed.streaming.source.offset import BEGIN, SourceOffset
from lakebed.streaming.source.schema.schema_guard import SchemaGuard
from lakebed.streaming.source.source_log import SourceCommit, SourceLog
from lakebed.streaming.source.stream_options import StreamOptions


@dataclass(frozen=True)
class Until:
    """What a batch may not go beyond: an offset, and a version."""

    offset: SourceOffset | None = None
    version: int | None = None

    @property
    def last_version(self) -> int | None:
        ends = [] if self.version is None else [self.version]
        if self.offset is not None:
            is_before = self.offset.index == BEGIN
            ends.append(self.offset.version - 1 if is_before else self.offset.version)
        return min(ends, default=None)

    def reaches(self, file: IndexedFile) -> bool:
        return self.offset is None or file.place <= self.offset.place


def last_version(end: SourceOffset) -> int:
    """The last version whose commit has files up to an offset."""
    return end.version if end.index >= 0 else end.version - 1


class SourceFiles(Protocol):
    """The numbered files of a table: appended ones, or those that changes are in."""

    def admitted(
        self, at: SourceOffset, admission: Admission | None, until: Until
    ) -> Iterator[IndexedFile]:
        """What the next batch takes behind `at`; only the last one counts. Files may come without
        their actions. Without `admission` a batch takes everything.
        """
        ...

    def between(self, after: SourceOffset, end: SourceOffset) -> Iterator[IndexedFile]:
        """The files of a batch that ends with `end`, and markers."""
        ...

    def numbered(self, commit: SourceCommit) -> Iterator[IndexedFile]:
        """The files of a commit, whether it is allowed or not."""
        ...


class Source:
    """The log of the table, checked commit by commit."""

    def __init__(
        self, snapshot: Snapshot, options: StreamOptions, commits: SourceLog, guard: SchemaGuard
    ) -> None:
        self.options = options
        self.store = snapshot.store
        self.url = snapshot.store.url
        self._snapshot = snapshot
        self._commits = commits
        self._guard = guard
        self._initial: InitialFiles | None = None

    def commits(
        self, start: int, last: int | None, *, was_seen: bool = False
    ) -> Iterator[tuple[SourceCommit, bool]]:
        """With each commit, whether a stream with a schema log stops at it.

        `was_seen`: the last one was there when the batch was planned.
        """
        for commit in self._commits.commits(start, last, was_seen=was_seen):
            self._guard.check(commit)
            yield commit, self._guard.is_barrier(commit)

    def initial_files(self, version: int) -> InitialFiles:
        if self._initial is None or self._initial.snapshot.version != version:
            snapshot = self.snapshot_at(version)
            self._guard.check_initial(snapshot)
            self._initial = InitialFiles(snapshot)
        return self._initial

    def forget_initial(self) -> None:
        self._initial = None

    def snapshot_at(self, version: int) -> Snapshot:
        if version == self._snapshot.version:
            return self._snapshot
        try:
            return TableLog(self._snapshot.store).at_version(version)
        except VersionNotFoundError as error:
            raise SourceDataLossError(
                f"the stream has to read version {version} of {self.url}, which the log cannot "
                f"rebuild any more: {error.message}",
                hint="log clean-up removes commits after delta.logRetentionDuration: start with a "
                "new checkpoint location",
            ) from error
