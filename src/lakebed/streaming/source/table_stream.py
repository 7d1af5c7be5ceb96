"""A table as the source of one running query: where the next batch ends, and the files in it.

Offsets and batches are those of delta-spark, see `offset` and `admission`. Nothing here runs a
Spark job: all answers come from the log.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from lakebed.errors import SourceSchemaChangedError, VersionNotFoundError
from lakebed.log.change_feed.change_files import Commit
from lakebed.log.change_feed.changes import feed_schema
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.spec.actions import Add, Metadata, Protocol
from lakebed.spec.columns.column_mapping import mapping_mode
from lakebed.spec.schema import StructType
from lakebed.streaming.source.admission import Admission, Limit
from lakebed.streaming.source.change_commits import change_commits
from lakebed.streaming.source.change_files import ChangedFiles
from lakebed.streaming.source.commit_files import AppendedFiles
from lakebed.streaming.source.first_schema import resolved_schema
from lakebed.streaming.source.indexed_file import IndexedFile
from lakebed.streaming.source.missing_files import FileCheck
from lakebed.streaming.source.offset import (
    AFTER_SCHEMA_CHANGE,
    SCHEMA_CHANGE,
    SourceOffset,
)
from lakebed.streaming.source.query_checkpoint import QueryCheckpoint
from lakebed.streaming.source.schema.schema_guard import SchemaGuard
from lakebed.streaming.source.schema.schema_log import SchemaLog
from lakebed.streaming.source.schema.schema_rules import schema_of
from lakebed.streaming.source.source_files import Source, SourceFiles, Until, last_version
from lakebed.streaming.source.source_log import SourceCommit, SourceLog
from lakebed.streaming.source.starting_version import ending_version, starting_version
from lakebed.streaming.source.stream_options import StreamOptions
from lakebed.streaming.source.tally import Tally


@dataclass(frozen=True)
class SourceBatch:
    """What to read, with this metadata: added files, or the changes of commits."""

    protocol: Protocol
    metadata: Metadata
    adds: tuple[Add, ...] = ()
    changes: tuple[Commit, ...] | None = None
    files: Sequence[IndexedFile] = ()
    is_initial: bool = False


class TableStream:
    """One object for each run of a query; `snapshot` is the table when the run began.

    `source_path` is the folder of the source in the checkpoint.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        options: StreamOptions,
        schema_log: SchemaLog | None = None,
        source_path: str = "",
        checkpoint: QueryCheckpoint | None = None,
    ) -> None:
        self.snapshot = snapshot
        self.options = options
        self.table_id = snapshot.metadata.id
        self._guard = SchemaGuard(
            snapshot, schema_log, source_path, reads_changes=options.reads_changes
        )
        self._commits = SourceLog(
            snapshot.store, self.table_id, fails_on_data_loss=options.fails_on_data_loss
        )
        self._source = Source(snapshot, options, self._commits, self._guard)
        self._files: SourceFiles = (
            ChangedFiles(self._source) if options.reads_changes else AppendedFiles(self._source)
        )
        self._tally = Tally(self._source, self._commits, self._files)
        self._checkpoint = checkpoint or QueryCheckpoint()
        self._is_first_question = True
        self._takes_what_is_there = False
        self._planned: SourceOffset | None = None
        self._bound: SourceOffset | None = None
        self._has_checked_start = False

    @property
    def schema(self) -> StructType:
        """The columns of its rows."""
        schema = schema_of(self._guard.metadata)
        return feed_schema(schema) if self.options.reads_changes else schema

    # --- what Spark asks ---

    def prepare_available_now(self) -> None:
        """The query will end with what is there when it first asks for an offset."""
        self._takes_what_is_there = True

    def latest_offset(self, start: str | None, limit: Limit | None) -> str | None:
        """Where the next batch ends. Without a limit it takes everything.

        It is `start` if nothing is new, and None if a new stream has nothing to begin with.
        """
        self._is_first_question = False
        after = None if start is None else self._offset(start)
        if self._takes_what_is_there:
            self._takes_what_is_there = False
            self._bound = self._next(after, None)
        found = self._next(after, limit)
        return None if found is None else found.to_json()

    def batch(self, start: str | None, end: str) -> SourceBatch:
        """The files behind `start`, up to and including `end`."""
        last = self._offset(end)
        is_repeated, self._is_first_question = self._is_first_question, False
        is_done = is_repeated and self._checkpoint.has_done_last_batch()
        if is_done and not self._guard.wants_first_entry:
            return self._read(last, ())
        after = self._begin(last) if start is None else self._offset(start)
        if start is not None and not after.is_initial:
            self._source.forget_initial()
        if after == last:
            # A query that goes on asks again for the last batch, and does not read it.
            return self._read(after, ())
        if self._guard.wants_first_entry:
            until = last_version(last)
            self._guard.write_first_entry(
                until, *resolved_schema(self._source, after.version, until)
            )
        self._check_start(after.version)
        return self._read(after, [file for file in self._files.between(after, last) if file.action])

    def check_files(self, batch: SourceBatch) -> None:
        """Whether the files of a batch are there, as far as that is worth looking."""
        retention = self.snapshot.properties.deleted_file_retention_ms
        check = FileCheck(self.snapshot.store, self._commits, self._files, retention)
        check.check(batch.files, is_initial=batch.is_initial)

    def commit(self, end: str) -> None:
        """Everything up to `end` has been processed."""
        offset = self._offset(end)
        self._commits.forget_before(offset.version)
        if offset.is_schema_change:
            self._guard.take_up(self._commit_of(offset.version))

    def backlog(self, consumed: str | None) -> dict[str, int]:
        """How much is behind an offset, as far as the log was looked at.

        The names are those of Spark's progress. Files are counted from the commits; as long as not
        all of these were read, only their number is known.
        """
        at = self._first if consumed is None else self._offset(consumed)
        newest = max(self._commits.newest, at.version if at.is_initial else -1)
        found = {"numVersionsOutstanding": max(newest + 1 - at.version, 0)}
        files = self._tally.behind(at, newest)
        if files is not None:
            found |= {"numFilesOutstanding": files[0], "numBytesOutstanding": files[1]}
        return found

    # --- offsets ---

    def _offset(self, text: str) -> SourceOffset:
        return SourceOffset.parse(text, self.table_id)

    def _next(self, after: SourceOffset | None, limit: Limit | None) -> SourceOffset | None:
        waiting = None if after is None else self._at_barrier(after)
        if waiting is not None:
            return waiting
        at = self._first if after is None else after
        if after is None and self._guard.wants_first_entry and not self._write_first_entry(at):
            return None
        admission = None if limit is None else Admission(limit.or_else(self.options.limit))
        until = Until(self._bound, self._last_version)
        newest = deque(self._files.admitted(at, admission, until), maxlen=1)
        if not newest:
            return after
        self._check_start(at.version)
        if after is None:
            self._planned = at
            if not at.is_initial:
                self._checkpoint.write_start(at.version)
        return SourceOffset.after(self.table_id, newest[0].version, newest[0].index, at)

    def _at_barrier(self, after: SourceOffset) -> SourceOffset | None:
        """A stream goes no further than a change of the schema before it reads with the new one.

        Spark commits an offset when it sees another one, so there are two for each change.
        """
        if not self._guard.is_tracking:
            return None
        if after.index == SCHEMA_CHANGE:
            return after.at(AFTER_SCHEMA_CHANGE)
        if after.index == AFTER_SCHEMA_CHANGE:
            is_barrier = self._guard.is_barrier(self._commit_of(after.version))
            return after if is_barrier else None
        return None

    def _write_first_entry(self, at: SourceOffset) -> bool:
        """False while the version that the stream starts with is not there yet."""
        try:
            snapshot = TableLog(self.snapshot.store).at_version(at.version)
        except VersionNotFoundError:
            if at.version > TableLog(self.snapshot.store).snapshot().version:
                return False
            snapshot = self._source.snapshot_at(at.version)
        self._guard.write_first_entry(snapshot.version, snapshot.metadata, snapshot.protocol)
        return True

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
        if self._planned is not None:
            return self._planned
        if self.options.has_start:
            start = self._checkpoint.read_start(self.options)
            return self._first if start is None else SourceOffset(self.table_id, start)
        version = end.version if end.is_initial else end.version - 1
        return SourceOffset(self.table_id, version, is_initial=True)

    @cached_property
    def _start(self) -> int | None:
        return starting_version(TableLog(self.snapshot.store), self.options)

    @cached_property
    def _last_version(self) -> int | None:
        return ending_version(TableLog(self.snapshot.store), self.options)

    # --- reading ---

    def _read(self, after: SourceOffset, files: Sequence[IndexedFile]) -> SourceBatch:
        protocol, metadata = self._guard.protocol, self._guard.metadata
        if self.options.reads_changes:
            initial = after.version if after.is_initial else None
            changes = change_commits(self._source, self._commit_of, files, initial)
            return SourceBatch(
                protocol,
                metadata,
                changes=tuple(changes),
                files=files,
                is_initial=after.is_initial,
            )
        excludes = self.options.excludes
        files = [file for file in files if file.action and not excludes(file.action.path)]
        adds = (file.action for file in files if isinstance(file.action, Add))
        return SourceBatch(
            protocol, metadata, tuple(adds), files=files, is_initial=after.is_initial
        )

    def _commit_of(self, version: int) -> SourceCommit:
        return next(self._commits.commits(version, version, was_seen=True))

    def _check_start(self, version: int) -> None:
        """Once for a run: whether the schema that held before the first commit can be read.

        A commit shows only the schema that it brings. One that drops a column looks harmless where
        the run began after it.
        """
        if self._has_checked_start:
            return
        self._has_checked_start = True
        if version == self.snapshot.version:
            return
        try:
            snapshot = TableLog(self.snapshot.store).at_version(version)
        except VersionNotFoundError as error:
            if self.options.reads_changes or self._is_mapped:
                raise SourceSchemaChangedError(
                    f"version {version} of {self.snapshot.store.url} cannot be rebuilt, so it is "
                    f"not known which columns the files of the stream have: {error.message}",
                    hint="start the query with a new checkpoint location",
                ) from error
            return
        self._guard.check_start(snapshot)

    @property
    def _is_mapped(self) -> bool:
        return mapping_mode(self.snapshot.metadata.configuration) != "none"
