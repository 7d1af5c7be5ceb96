"""What changed in a range of versions, from the commits of the range alone.

PROTOCOL: Reader Requirements for AddCDCFile. The result is a few snapshots that are in no log (see
`log.synthetic_snapshot`), whose rows together are the changes: any data plane reads them as it
reads a table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from lakebed.errors import (
    InvalidArgumentError,
    ObjectNotFoundError,
    SchemaError,
    VersionNotFoundError,
)
from lakebed.formats import commit_file as commit_format
from lakebed.log.change_feed.change_files import (
    CHANGE_TYPE,
    COMMIT_TIMESTAMP,
    COMMIT_VERSION,
    Commit,
    derived_changes,
    written_changes,
)
from lakebed.log.change_feed.change_range import ChangeRange, contiguous_commits
from lakebed.log.change_feed.change_schema import MetadataAt, choose_metadata, schema_of
from lakebed.log.listing.commit_times import CommitTimes
from lakebed.log.listing.log_names import LogFile
from lakebed.log.snapshot import Snapshot
from lakebed.log.synthetic_snapshot import synthetic_snapshot
from lakebed.log.table_log import TableLog
from lakebed.spec.actions import Action, Add, AddCdc, CommitInfo, Metadata, Protocol, Remove
from lakebed.spec.columns.column_mapping import MODE, mapping_mode
from lakebed.spec.features import check_readable
from lakebed.spec.properties import TableProperties
from lakebed.spec.schema import StructType
from lakebed.storage.store import Store

FEED_COLUMNS = (CHANGE_TYPE, COMMIT_VERSION, COMMIT_TIMESTAMP)
"""What a row of the change feed has after the columns of the table."""


@dataclass(frozen=True)
class Changes:
    """The changes of some versions: the rows of all layers, each with the columns of `schema`.

    In a layer the columns that are the same for all rows of a file are partition columns.
    """

    versions: range
    schema: StructType
    layers: tuple[Snapshot, ...] = ()


def change_layers(
    store: Store,
    protocol: Protocol,
    metadata: Metadata,
    commits: Sequence[Commit],
    before: Callable[[], Snapshot | None],
) -> tuple[Snapshot, ...]:
    """The changes of commits, as tables with the columns of the metadata and `FEED_COLUMNS`.

    `before` gives the version before the first commit, if it can be read.
    """
    named = metadata
    if mapping_mode(metadata.configuration) == "id":
        # No id leads to _change_type in a file, but writers put physical names there anyway.
        named = replace(metadata, configuration={**metadata.configuration, MODE: "name"})
    stamps = [COMMIT_VERSION, COMMIT_TIMESTAMP]
    is_partitioned = bool(metadata.partition_columns)
    derived = derived_changes(store, commits, before, is_partitioned=is_partitioned)
    return (
        *(
            synthetic_snapshot(
                store, protocol, named, adds, columns=[CHANGE_TYPE], partitions=stamps
            )
            for adds in written_changes(commits)
        ),
        *(
            synthetic_snapshot(store, protocol, metadata, adds, partitions=FEED_COLUMNS)
            for adds in derived
        ),
    )


def read_changes(log: TableLog, asked: ChangeRange) -> Changes:
    """What changed in the versions that are asked for. Reads their commits, and no data file."""
    latest = log.snapshot()
    versions = asked.resolve(latest)
    if not versions:
        return Changes(versions, feed_schema(latest.schema))
    commits = _read_commits(log.store, versions)
    first = latest if versions[0] == latest.version else log.at_version(versions[0])
    known = [MetadataAt(versions[0], first.metadata), *_later_metadata(commits[1:])]
    _check_recorded(known, versions)
    _check_protocols(first.metadata, commits)
    newest = MetadataAt(latest.version, latest.metadata)
    metadata = choose_metadata(known, newest, versions[-1])
    return _Feed(log, versions, commits, latest.protocol, metadata).changes()


@dataclass(frozen=True)
class _Feed:
    log: TableLog
    versions: range
    commits: Sequence[Commit]
    protocol: Protocol
    metadata: Metadata

    def changes(self) -> Changes:
        schema = feed_schema(schema_of(self.metadata))
        layers = change_layers(
            self.log.store, self.protocol, self.metadata, self.commits, self._before
        )
        return Changes(self.versions, schema, layers)

    def _before(self) -> Snapshot | None:
        start = self.versions[0]
        try:
            return self.log.at_version(start - 1) if start else None
        except VersionNotFoundError:
            return None  # the caller says what it needed the version for


_WANTED = (Protocol, Metadata, Add, Remove, AddCdc, CommitInfo)
# Clocks that went backwards are made up for over so many commits, as in delta-spark.
_EARLIER = 100


def _read_commits(store: Store, versions: range) -> list[Commit]:
    files = contiguous_commits(store, max(versions[0] - _EARLIER, 0))
    wanted = [file for file in files if file.version in versions]
    if len(wanted) < len(versions):
        raise _cleaned_up(versions, wanted)
    try:
        bodies = store.get_many([file.path for file in wanted])
    except ObjectNotFoundError as error:
        raise _cleaned_up(versions, []) from error
    # Without properties: what a commit says about its time is looked up in its own actions.
    times = CommitTimes(store, files, TableProperties({}))
    commits = []
    for file, data in zip(wanted, bodies, strict=True):
        actions = commit_format.decode_actions(data, file.path, _WANTED)
        commits.append(Commit(file.version, _time(actions, file, times), actions))
    return commits


def _time(actions: Sequence[Action], file: LogFile, times: CommitTimes) -> int:
    info = next((action for action in actions if isinstance(action, CommitInfo)), None)
    stamp = None if info is None else info.in_commit_timestamp
    return times.time_of(file.version) if stamp is None else stamp


def _later_metadata(commits: Sequence[Commit]) -> list[MetadataAt]:
    return [
        MetadataAt(commit.version, action)
        for commit in commits
        for action in commit.actions
        if isinstance(action, Metadata)
    ]


def _check_recorded(known: Sequence[MetadataAt], versions: range) -> None:
    for each in known:
        if not TableProperties(each.metadata.configuration).enable_change_data_feed:
            raise InvalidArgumentError(
                f"the changes of versions {versions[0]} to {versions[-1]} were not all recorded: "
                f"in version {each.version} delta.enableChangeDataFeed is not true",
                hint="choose a range in which it is true for every version",
            )


def _check_protocols(metadata: Metadata, commits: Sequence[Commit]) -> None:
    """Some version may have needed what neither the first nor the newest one needs."""
    for commit in commits:
        changes = [each for each in commit.actions if isinstance(each, (Metadata, Protocol))]
        metadata = next((each for each in changes if isinstance(each, Metadata)), metadata)
        for each in changes:
            if isinstance(each, Protocol):
                check_readable(each, metadata)


def feed_schema(schema: StructType) -> StructType:
    for field in FEED_COLUMNS:
        taken = schema.find(field.name)
        if taken is not None:
            raise SchemaError(
                f"the table has a column {taken.name!r}, which is a name of the change feed",
                hint="rename the column",
            )
    return StructType((*schema.fields, *FEED_COLUMNS))


def _cleaned_up(versions: range, wanted: Sequence[LogFile]) -> VersionNotFoundError:
    left = {file.version for file in wanted}
    missing = [version for version in versions if version not in left]
    advice = f"start at version {min(left)} or later" if left else "start at a later version"
    return VersionNotFoundError(
        f"the changes of versions {missing[0]} to {missing[-1]} are gone: the commits of these "
        "versions were cleaned up",
        hint=f"{advice}; delta.logRetentionDuration says how long commits are kept",
    )
