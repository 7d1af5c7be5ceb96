"""A table as the source of one running query: where the next batch ends, and the files in it.

Offsets and batches are those of delta-spark, see `offset` and `admission`. Nothing here runs a
Spark job: all answers come from the log.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile

from lakebed.errors import SourceDataLossError, VersionNotFoundError
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.spec.actions import Metadata, Protocol
from lakebed.spec.schema import StructType
from lakebed.streaming.source.admission import Admission, Limit
from lakebed.streaming.source.commit_files import appended_files
from lakebed.streaming.source.indexed_file import IndexedFile
from lakebed.streaming.source.initial_files import InitialFiles
from lakebed.streaming.source.offset import BEGIN, SourceOffset
from lakebed.streaming.source.schema_guard import SchemaGuard
from lakebed.streaming.source.source_log import SourceLog
from lakebed.streaming.source.starting_version import ending_version, starting_version
from lakebed.streaming.source.stream_options import StreamOptions


@dataclass(frozen=True)
class SourceBatch:
    """Files to read together, as tables with this metadata."""

    protocol: Protocol
    metadata: Metadata
    files: tuple[IndexedFile, ...]


class TableStream:
    """One object for each run of a query; `snapshot` is the table when the run began."""

    def __init__(self, snapshot: Snapshot, options: StreamOptions) -> None:
        self.snapshot = snapshot
        self.options = options
        self.table_id = snapshot.metadata.id
        self._log = TableLog(snapshot.store)
        self._commits = SourceLog(
            snapshot.store, self.table_id, fails_on_data_loss=options.fails_on_data_loss
        )
        self._guard = SchemaGuard(snapshot)
        self._initial: InitialFiles | None = None
        self._takes_what_is_there = False
        self._bound: SourceOffset | None = None

    @property
    def schema(self) -> StructType:
        """The columns of its rows."""
        return self.snapshot.schema

    # --- what Spark asks ---

    def prepare_available_now(self) -> None:
        """The query will end with what is there when it first asks for an offset."""
        self._takes_what_is_there = True

    def latest_offset(self, start: str | None, limit: Limit | None) -> str | None:
        """Where the next batch ends. Without a limit it takes everything.

        It is `start` if nothing is new, and None if a new stream has nothing to begin with.
        """
        after = None if start is None else self._offset(start)
        if self._takes_what_is_there:
            self._takes_what_is_there = False
            self._bound = self._next(after, None)
        found = self._next(after, limit)
        return None if found is None else found.to_json()

    def batch(self, start: str | None, end: str) -> SourceBatch:
        """The files behind `start`, up to and including `end`."""
        last = self._offset(end)
        after = self._begin(last) if start is None else self._offset(start)
        if start is not None and not after.is_initial:
            self._initial = None
        files = (
            []
            if after == last
            else [
                file
                for file in self._between(after, last)
                if file.action is not None and not self.options.excludes(file.action.path)
            ]
        )
        return SourceBatch(self.snapshot.protocol, self.snapshot.metadata, tuple(files))

    def commit(self, end: str) -> None:
        """Everything up to `end` has been processed."""
        self._commits.forget_before(self._offset(end).version)

    # --- offsets ---

    def _offset(self, text: str) -> SourceOffset:
        return SourceOffset.parse(text, self.table_id)

    def _next(self, after: SourceOffset | None, limit: Limit | None) -> SourceOffset | None:
        at = after
        if at is None:
            at = self._first
        chosen = None if limit is None else limit.or_else(self.options.limit)
        newest = deque(self._admitted(at, chosen), maxlen=1)
        if not newest:
            return after
        last = newest[0]
        return SourceOffset.after(self.table_id, last.version, last.index, at)

    @cached_property
    def _first(self) -> SourceOffset:
        """Before everything that a new stream reads."""
        start = self._start
        if start is not None:
            return SourceOffset(self.table_id, start)
        newest = self.snapshot.version
        last = newest if self._last_version is None else min(newest, self._last_version)
        return SourceOffset(self.table_id, last, is_initial=True)

    def _begin(self, end: SourceOffset) -> SourceOffset:
        """Where the first batch of a query begins, which ends at `end`."""
        if self._start is not None:
            return SourceOffset(self.table_id, self._start)
        version = end.version if end.is_initial else end.version - 1
        return SourceOffset(self.table_id, version, is_initial=True)

    @cached_property
    def _start(self) -> int | None:
        return starting_version(self._log, self.options)

    @cached_property
    def _last_version(self) -> int | None:
        return ending_version(self._log, self.options)

    # --- files ---

    def _admitted(self, at: SourceOffset, limit: Limit | None) -> Iterator[IndexedFile]:
        """What the next batch takes, without the actions of initial files."""
        found = self._behind(at, limit is None)
        bound = self._bound
        if bound is not None:
            found = takewhile(lambda file: file.place <= bound.place, found)
        if limit is None:
            return found
        return takewhile(Admission(limit).admits, found)

    def _behind(self, at: SourceOffset, is_last_wanted: bool) -> Iterator[IndexedFile]:
        version = at.version
        if at.is_initial:
            initial = self._initial_files(version)
            if is_last_wanted:
                yield initial.end
            else:
                yield from initial.sizes(at.index)
            version += 1
        yield from self._committed(version, self._last_version, at)

    def _between(self, after: SourceOffset, end: SourceOffset) -> Iterator[IndexedFile]:
        version = after.version
        if after.is_initial:
            initial = self._initial_files(version)
            last = end.index if end.version == version else len(initial)
            yield from initial.files(after.index, last)
            version += 1
        last_version = end.version if end.index > BEGIN else end.version - 1
        for file in self._committed(version, last_version, after):
            if file.place > end.place:
                return
            yield file

    def _committed(
        self, version: int, last: int | None, after: SourceOffset
    ) -> Iterator[IndexedFile]:
        for commit in self._commits.commits(version, last):
            self._guard.check(commit)
            for file in appended_files(commit, self.options, self.snapshot.store.url):
                if file.place > after.place:
                    yield file

    def _initial_files(self, version: int) -> InitialFiles:
        if self._initial is None or self._initial.snapshot.version != version:
            self._initial = InitialFiles(self._snapshot_at(version))
        return self._initial

    def _snapshot_at(self, version: int) -> Snapshot:
        if version == self.snapshot.version:
            return self.snapshot
        try:
            return self._log.at_version(version)
        except VersionNotFoundError as error:
            raise SourceDataLossError(
                f"the stream has to read version {version} of {self.snapshot.store.url}, which the "
                f"log cannot rebuild any more: {error.message}",
                hint="log clean-up removes commits after delta.logRetentionDuration: start with a "
                "new checkpoint location",
            ) from error
