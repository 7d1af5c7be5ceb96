"""What a stream has still to read of its table, by an offset alone.

It goes by the files that were appended, as a stream without options does. Which options a query
has is in no checkpoint: one that reads the change feed reads other files of the same versions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.spec.actions import Add, AddCdc
from lakebed.streaming.source.indexed_file import numbered
from lakebed.streaming.source.initial_files import InitialFiles
from lakebed.streaming.source.offset import SourceOffset
from lakebed.streaming.source.source_log import SourceCommit, SourceLog


def last_read(offset: SourceOffset) -> tuple[int | None, int | None]:
    """The newest version of which something was read, and the number of its last file.

    The version is None before the first. The file is None if all of them were read, -1 if none.
    """
    if offset.index >= 0:
        return offset.version, offset.index
    if offset.is_initial:
        return offset.version, -1
    return (offset.version - 1 if offset.version else None), None


@dataclass(frozen=True)
class Backlog:
    offset: SourceOffset
    newest: Snapshot

    @property
    def num_versions(self) -> int:
        """Of which something is left."""
        return max(self.newest.version - self.offset.version + 1, 0)

    @property
    def first_commit(self) -> int:
        """The first of the commits that are left; the initial files are those before it."""
        return self.offset.version + self.offset.is_initial

    def files(self) -> Iterator[Add]:
        """The files that are left, in the order in which a stream reads them.

        `SourceDataLossError` and `VersionNotFoundError` where the log has not all of them any more.
        """
        if self.offset.is_initial:
            initial = self._initial()
            for file in initial.files(self.offset.index, len(initial)):
                assert isinstance(file.action, Add)
                yield file.action
        yield from self._appended()

    def size(self) -> tuple[int, int]:
        """How many files are left, and their bytes. Of the initial files only sizes are read."""
        num_files = num_bytes = 0
        if self.offset.is_initial:
            initial = self._initial()
            num_files = len(initial) - max(self.offset.index + 1, 0)
            num_bytes = initial.size_after(self.offset.index)
        for add in self._appended():
            num_files += 1
            num_bytes += add.size
        return num_files, num_bytes

    def change_files(self) -> Iterator[AddCdc]:
        """What a stream reads instead if it reads the change feed."""
        for commit in self._commits():
            yield from (each for each in commit.actions if isinstance(each, AddCdc))

    def _appended(self) -> Iterator[Add]:
        for commit in self._commits():
            adds = (each for each in commit.actions if isinstance(each, Add) and each.data_change)
            for file in numbered(commit.version, adds):
                if self.offset.is_initial or file.place > self.offset.place:
                    assert isinstance(file.action, Add)
                    yield file.action

    def _commits(self) -> Iterator[SourceCommit]:
        log = SourceLog(self.newest.store, self.offset.table_id)
        return log.commits(self.first_commit, self.newest.version)

    def _initial(self) -> InitialFiles:
        version = self.offset.version
        is_newest = version == self.newest.version
        log = TableLog(self.newest.store)
        return InitialFiles(self.newest if is_newest else log.at_version(version))
