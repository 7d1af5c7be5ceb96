"""The files that the change feed of commits is in (PROTOCOL: Change Data Files).

A commit with `cdc` actions is read from these alone; they are admitted whole, so that no update is
split. Otherwise it is read from its data-changing adds and removes, which are admitted whole where
deletion vectors say which of their rows changed. Numbers are in the order of the commit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import takewhile

from lakebed.spec.actions import Add, AddCdc, CommitInfo, Remove
from lakebed.streaming.source.admission import Admission
from lakebed.streaming.source.commit_files import up_to_barrier
from lakebed.streaming.source.indexed_file import (
    FileAction,
    IndexedFile,
    between_markers,
    numbered,
)
from lakebed.streaming.source.offset import SCHEMA_CHANGE, SourceOffset
from lakebed.streaming.source.source_files import Source, Until, last_version
from lakebed.streaming.source.source_log import SourceCommit


class ChangedFiles:
    """The files of a stream with `readChangeFeed`. What excludeRegex leaves out has a number, but
    no batch ends with it.
    """

    def __init__(self, source: Source) -> None:
        self._source = source

    def admitted(
        self, at: SourceOffset, admission: Admission | None, until: Until
    ) -> Iterator[IndexedFile]:
        return up_to_barrier(self._admitted(at, admission, until))

    def between(self, after: SourceOffset, end: SourceOffset) -> Iterator[IndexedFile]:
        version = after.version
        if after.is_initial:
            initial = self._source.initial_files(version)
            last = end.index if end.version == version else len(initial)
            yield from self._included(initial.files(after.index, last))
            version += 1
        for commit, _ in self._source.commits(version, last_version(end), was_seen=True):
            files = self._included(_files_of(commit))
            yield from (file for file in files if after.place < file.place <= end.place)

    def numbered(self, commit: SourceCommit) -> Iterator[IndexedFile]:
        return _files_of(commit)

    def _admitted(
        self, at: SourceOffset, admission: Admission | None, until: Until
    ) -> Iterator[IndexedFile]:
        version = at.version
        if at.is_initial:
            initial = filter(until.reaches, self._initial(at, admission is None))
            yield from initial if admission is None else takewhile(admission.admits, initial)
            version += 1
        for commit, is_barrier in self._source.commits(version, until.last_version):
            if admission is not None and not admission.has_room:
                return
            files = between_markers(commit.version, _files_of(commit), is_barrier=is_barrier)
            found = (file for file in self._included(files) if file.place > at.place)
            reached = list(filter(until.reaches, found))
            yield from reached if admission is None else _admitted(commit, reached, admission)

    def _initial(self, at: SourceOffset, only_last: bool) -> Iterator[IndexedFile]:
        initial = self._source.initial_files(at.version)
        if only_last:
            yield initial.end
        elif self._source.options.excluded is None:
            yield from initial.sizes(at.index)
        else:
            yield from self._included(initial.files(at.index, len(initial)))
            yield initial.end

    def _included(self, files: Iterator[IndexedFile]) -> Iterator[IndexedFile]:
        options = self._source.options
        for file in files:
            if file.action is None or not options.excludes(file.action.path):
                yield file


def _files_of(commit: SourceCommit) -> Iterator[IndexedFile]:
    """None of a MERGE that changed no row: it may have rewritten files all the same."""
    return iter(()) if _is_idle_merge(commit) else numbered(commit.version, _changes(commit))


def _changes(commit: SourceCommit) -> list[FileAction]:
    written = [each for each in commit.actions if isinstance(each, AddCdc)]
    if written:
        return [*written]
    changed = (each for each in commit.actions if isinstance(each, (Add, Remove)))
    return [each for each in changed if each.data_change]


def _admitted(
    commit: SourceCommit, files: list[IndexedFile], admission: Admission
) -> Iterator[IndexedFile]:
    barrier = [file for file in files if file.index == SCHEMA_CHANGE]
    if barrier:
        return iter(barrier)
    changes = _changes(commit)
    if any(isinstance(each, AddCdc) for each in changes):
        some = [file for file in files if file.action is not None]
        return iter(some if admission.admits_all(some) else ())
    if any(each.deletion_vector for each in changes if isinstance(each, (Add, Remove))):
        return iter(files if admission.admits_all(files) else ())
    return takewhile(admission.admits, files)


def _is_idle_merge(commit: SourceCommit) -> bool:
    info = next((each for each in commit.actions if isinstance(each, CommitInfo)), None)
    has_written = any(isinstance(each, AddCdc) for each in commit.actions)
    if info is None or has_written or info.operation != "MERGE":
        return False
    metrics = info.values.get("operationMetrics")
    return isinstance(metrics, Mapping) and all(
        str(metrics.get(name)) == "0" for name in _CHANGED_BY_MERGE
    )


_CHANGED_BY_MERGE = ("numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted")
