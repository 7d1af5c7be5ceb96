"""The files of a batch of changes as commits, with the times that their rows show."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import groupby

from lakebed.errors import VersionNotFoundError
from lakebed.log.change_feed.change_files import Commit
from lakebed.log.change_feed.change_range import contiguous_commits
from lakebed.log.listing.commit_times import CommitTimes
from lakebed.spec.actions import Action, Add, CommitInfo
from lakebed.spec.properties import TableProperties
from lakebed.storage.store import Store
from lakebed.streaming.source.indexed_file import IndexedFile
from lakebed.streaming.source.source_files import Source
from lakebed.streaming.source.source_log import SourceCommit


def change_commits(
    source: Source,
    commit_of: Callable[[int], SourceCommit],
    files: Sequence[IndexedFile],
    initial_version: int | None,
) -> Iterator[Commit]:
    """Of `initial_version` the batch has files of the whole table: their rows are inserts."""
    if not files:
        return
    times = _Times(source.store, files[0].version)
    for version, some in groupby(files, lambda file: file.version):
        actions: list[Action] = [file.action for file in some if file.action is not None]
        if version == initial_version:
            info = source.snapshot_at(version).commit_info
            actions = [replace(each, data_change=True) for each in actions if isinstance(each, Add)]
        else:
            found = (each for each in commit_of(version).actions if isinstance(each, CommitInfo))
            info = next(found, None)
        stamp = None if info is None else info.in_commit_timestamp
        yield Commit(version, times.of(version) if stamp is None else stamp, actions)


# Clocks that went backwards are made up for over so many commits, as in delta-spark.
_EARLIER = 100


class _Times:
    """Of commits that do not say it themselves: those of their files."""

    def __init__(self, store: Store, first: int) -> None:
        self._store = store
        self._first = first

    def of(self, version: int) -> int:
        known, times = self._times
        if version < known:
            raise VersionNotFoundError(
                f"the time of version {version} of {self._store.url} is not known: its commit was "
                "removed from the log",
                hint="start the query with a new checkpoint location",
            )
        return times.time_of(version)

    @cached_property
    def _times(self) -> tuple[int, CommitTimes]:
        files = contiguous_commits(self._store, max(self._first - _EARLIER, 0))
        first = files[0].version if files else self._first + 1
        return first, CommitTimes(self._store, files, TableProperties({}))
