"""Whether what commits say about columns and protocol lets a stream go on.

A run of a query reads all files with one schema. Without a schema log it is that of the table when
the run began, and changes that it cannot take are an error. With a log it is that of its newest
entry: the stream stops at each change, writes the new schema into the log and fails, and goes on
with it when the query is started again. See `schema_log` and `offset.SCHEMA_CHANGE`.
"""

from __future__ import annotations

from lakebed.errors import InvalidArgumentError, SourceReplacedError, SourceSchemaChangedError
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Metadata, Protocol
from lakebed.spec.features import check_readable, supported_features
from lakebed.spec.properties import TableProperties
from lakebed.streaming.source.schema.schema_log import SchemaLog, TrackedSchema
from lakebed.streaming.source.schema.schema_rules import (
    Compatibility,
    column_changes,
    has_changed,
    has_mapping_changes,
    schema_of,
)
from lakebed.streaming.source.source_log import SourceCommit


class SchemaGuard:
    """`snapshot` is the table when the run began, `source_path` the folder of the source in the
    checkpoint.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        log: SchemaLog | None = None,
        source_path: str = "",
        *,
        reads_changes: bool = False,
    ) -> None:
        self._snapshot = snapshot
        self._log = log
        self._source_path = source_path
        self._reads_changes = reads_changes
        self._tracked = None if log is None else log.current
        self.metadata = snapshot.metadata
        self.protocol = snapshot.protocol
        if self._tracked is not None:
            self.metadata = self._tracked.metadata(snapshot)
            self.protocol = self._tracked.protocol or snapshot.protocol
        self._widens = bool(supported_features(self.protocol) & _WIDENING)

    @property
    def is_tracking(self) -> bool:
        return self._log is not None and self._log.current is not None

    @property
    def wants_first_entry(self) -> bool:
        return self._log is not None and self._log.current is None

    # --- commits ---

    def check(self, commit: SourceCommit) -> None:
        for action in commit.actions:
            if isinstance(action, Metadata):
                self._check_recorded(action, commit.version)
                if not self.is_tracking:
                    self.check_metadata(action, commit.version)
            elif isinstance(action, Protocol):
                check_readable(action, self.metadata)

    def is_barrier(self, commit: SourceCommit) -> bool:
        """Whether the stream stops at a commit, because it changes what files are read with."""
        return self.is_tracking and self._has_changed(*_changed(commit), commit.version)

    def take_up(self, commit: SourceCommit) -> None:
        """Everything before a barrier was processed: the next run reads with the new schema."""
        if self.is_tracking:
            self._take_up(*_changed(commit), commit.version)

    def check_initial(self, snapshot: Snapshot) -> None:
        """The version that the stream begins with may be newer than the entry of the log."""
        self._check_recorded(snapshot.metadata, snapshot.version)
        tracked = self._tracked
        if tracked is not None and snapshot.version >= tracked.version:
            self._take_up(snapshot.metadata, snapshot.protocol, snapshot.version, replaces=True)

    def write_first_entry(self, version: int, metadata: Metadata, protocol: Protocol) -> None:
        """If it is another schema than this run reads with, the query has to be started again."""
        assert self._log is not None
        has_changed = self._has_changed(metadata, protocol, version)
        entry = TrackedSchema.of(version, metadata, protocol, self._source_path)
        self._log.write(entry)
        if has_changed:
            raise _evolved(version)

    def _has_changed(
        self, metadata: Metadata | None, protocol: Protocol | None, version: int
    ) -> bool:
        if self._tracked is not None and self._tracked.version >= version:
            return False
        if protocol is not None and not _same_protocol(protocol, self.protocol):
            return True
        return metadata is not None and has_changed(self.metadata, metadata)

    def _take_up(
        self,
        metadata: Metadata | None,
        protocol: Protocol | None,
        version: int,
        *,
        replaces: bool = False,
    ) -> None:
        if not self._has_changed(metadata, protocol, version):
            return
        assert self._log is not None
        entry = TrackedSchema.of(
            version, metadata or self.metadata, protocol or self.protocol, self._source_path
        )
        self._log.write(entry, replaces=replaces)
        raise _evolved(version)

    # --- without a log ---

    def check_start(self, snapshot: Snapshot) -> None:
        """The version that this run reads first, or reads the changes after."""
        self._check_recorded(snapshot.metadata, snapshot.version)
        if not self.is_tracking:
            self.check_metadata(snapshot.metadata, snapshot.version)

    def check_metadata(self, metadata: Metadata, version: int) -> None:
        """Whether files that were written with it can be read with the schema of this run."""
        now = self._snapshot
        is_older = version < now.version
        old, new = (metadata, now.metadata) if is_older else (now.metadata, metadata)
        if metadata.id != now.metadata.id:
            raise SourceReplacedError(
                f"version {version} of {now.store.url} has the id {metadata.id} instead of "
                f"{now.metadata.id}: the table was replaced by another one",
                hint="start the query with a new checkpoint location",
            )
        if has_mapping_changes(old, new):
            raise self._not_additive(old, new, version)
        stored, read = schema_of(metadata), schema_of(now.metadata)
        same_partitions = old.partition_columns == new.partition_columns
        forward = Compatibility(widens=self._widens and is_older)
        if same_partitions and forward.holds(stored, read):
            return
        back = Compatibility(widens=self._widens)
        raise self._changed(metadata, version, is_older or not back.holds(read, stored))

    def _not_additive(self, old: Metadata, new: Metadata, version: int) -> SourceSchemaChangedError:
        changes = column_changes(schema_of(old), schema_of(new))
        what = str(changes) or "the partition columns or the column mapping changed"
        return SourceSchemaChangedError(
            f"the columns of {self._snapshot.store.url} changed, as version {version} shows, and "
            f"files from before and after cannot be read together: {what}",
            hint="set the option schemaTrackingLocation to a folder below the checkpoint location "
            "and start the query again; or start it with a new checkpoint location",
        )

    def _changed(
        self, metadata: Metadata, version: int, is_final: bool
    ) -> SourceSchemaChangedError:
        url = self._snapshot.store.url
        shown = f"{schema_of(metadata)} instead of {schema_of(self._snapshot.metadata)}"
        if not is_final:
            return SourceSchemaChangedError(
                f"version {version} of {url} changed the columns of the table while the stream "
                f"ran: they are {shown}",
                is_retryable=True,
                hint="start the query again: it goes on with the new columns",
            )
        return SourceSchemaChangedError(
            f"version {version} of {url} has columns that cannot be read together with those of "
            f"the stream: they are {shown}",
            hint="start the query with a new checkpoint location; startingVersion "
            f"{version} leaves out what was before",
        )

    # --- the change feed ---

    def _check_recorded(self, metadata: Metadata, version: int) -> None:
        properties = TableProperties(metadata.configuration)
        if self._reads_changes and not properties.enable_change_data_feed:
            raise InvalidArgumentError(
                f"the changes of version {version} of {self._snapshot.store.url} were not "
                "recorded: delta.enableChangeDataFeed is not true there",
                hint="start the stream at a version from which on it is true, with a new "
                "checkpoint location",
            )


_WIDENING = {"typeWidening", "typeWidening-preview"}


def _changed(commit: SourceCommit) -> tuple[Metadata | None, Protocol | None]:
    metadata = [each for each in commit.actions if isinstance(each, Metadata)]
    protocol = [each for each in commit.actions if isinstance(each, Protocol)]
    return (metadata[-1] if metadata else None), (protocol[-1] if protocol else None)


def _same_protocol(one: Protocol, other: Protocol) -> bool:
    return (
        (one.min_reader_version, one.min_writer_version)
        == (other.min_reader_version, other.min_writer_version)
        and set(one.reader_features or ()) == set(other.reader_features or ())
        and set(one.writer_features or ()) == set(other.writer_features or ())
    )


def _evolved(version: int) -> SourceSchemaChangedError:
    return SourceSchemaChangedError(
        f"version {version} changes the schema or the properties of the source. The new schema is "
        "now in the schema log of the stream",
        is_retryable=True,
        hint="start the query again: it goes on with the new schema",
    )
