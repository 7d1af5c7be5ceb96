"""The files that commits append, and what a stream of appended rows makes of other commits.

Data-changing `add` actions are numbered in the order of the commit. Commits that delete or update
rows are an error unless an option allows them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import takewhile

from lakebed.errors import SourceChangedError
from lakebed.spec.actions import Add, CommitInfo, Remove
from lakebed.streaming.source.admission import Admission
from lakebed.streaming.source.indexed_file import IndexedFile, between_markers, numbered
from lakebed.streaming.source.offset import SCHEMA_CHANGE, SourceOffset
from lakebed.streaming.source.source_files import Source, Until, last_version
from lakebed.streaming.source.source_log import SourceCommit
from lakebed.streaming.source.stream_options import StreamOptions


class AppendedFiles:
    """The files of a stream of appended rows."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def admitted(
        self, at: SourceOffset, admission: Admission | None, until: Until
    ) -> Iterator[IndexedFile]:
        found = takewhile(until.reaches, self._behind(at, admission is None, until.last_version))
        if admission is not None:
            found = takewhile(admission.admits, found)
        return up_to_barrier(found)

    def between(self, after: SourceOffset, end: SourceOffset) -> Iterator[IndexedFile]:
        version = after.version
        if after.is_initial:
            initial = self._source.initial_files(version)
            last = end.index if end.version == version else len(initial)
            yield from initial.files(after.index, last)
            version += 1
        found = self._committed(version, last_version(end), after, was_seen=True)
        for file in found:
            if file.place > end.place:
                return
            yield file

    def numbered(self, commit: SourceCommit) -> Iterator[IndexedFile]:
        is_skipped = self._source.options.skips_changes and any(_removed(commit))
        return numbered(commit.version, () if is_skipped else _added(commit))

    def _behind(self, at: SourceOffset, only_last: bool, last: int | None) -> Iterator[IndexedFile]:
        version = at.version
        if at.is_initial:
            initial = self._source.initial_files(version)
            if only_last:
                yield initial.end
            else:
                yield from initial.sizes(at.index)
            version += 1
        yield from self._committed(version, last, at)

    def _committed(
        self, version: int, last: int | None, after: SourceOffset, *, was_seen: bool = False
    ) -> Iterator[IndexedFile]:
        for commit, is_barrier in self._source.commits(version, last, was_seen=was_seen):
            files = appended(commit, self._source)
            for file in between_markers(commit.version, files, is_barrier=is_barrier):
                if file.place > after.place:
                    yield file


def up_to_barrier(files: Iterable[IndexedFile]) -> Iterator[IndexedFile]:
    """A batch ends with the first change of the schema, if the stream keeps track of them."""
    for file in files:
        yield file
        if file.index == SCHEMA_CHANGE:
            return


def appended(commit: SourceCommit, source: Source) -> Iterator[IndexedFile]:
    """The files that a commit appends; an error if it does something else that no option allows."""
    options = source.options
    removed = next(_removed(commit), None)
    if removed is None:
        return numbered(commit.version, _added(commit))
    _check_allowed(commit, removed, options, source.url)
    return numbered(commit.version, () if options.skips_changes else _added(commit))


def _added(commit: SourceCommit) -> Iterator[Add]:
    return (each for each in commit.actions if isinstance(each, Add) and each.data_change)


def _removed(commit: SourceCommit) -> Iterator[Remove]:
    return (each for each in commit.actions if isinstance(each, Remove) and each.data_change)


def _check_allowed(commit: SourceCommit, removed: Remove, options: StreamOptions, url: str) -> None:
    is_update = next(_added(commit), None) is not None
    if is_update and not options.allows_changes:
        raise SourceChangedError(
            f"version {commit.version} of {url} updates rows ({_operation(commit)}, for example in "
            f"{removed.path}), and a stream reads appended rows",
            version=commit.version,
            hint="set the option skipChangeCommits to true to pass over such commits, "
            "readChangeFeed to read the changes of rows, or ignoreChanges to read rewritten files "
            "again",
        )
    if not is_update and not options.allows_deletes:
        raise SourceChangedError(
            f"version {commit.version} of {url} deletes rows ({_operation(commit)}, for example in "
            f"{removed.path}), and a stream reads appended rows",
            version=commit.version,
            hint="set the option skipChangeCommits or ignoreDeletes to true to pass over such "
            "commits, or readChangeFeed to read the changes of rows",
        )


def _operation(commit: SourceCommit) -> str:
    info = next((each for each in commit.actions if isinstance(each, CommitInfo)), None)
    return (info.operation if info is not None else None) or "unknown operation"
