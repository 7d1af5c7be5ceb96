"""CLONE: another table with the rows and the metadata of a version of this one.

A shallow clone has the source's files under their absolute paths: it costs one commit, and breaks
when the source's VACUUM deletes them. A deep clone has copies. Cloned to the same place again, it
copies and removes only what has changed since.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from lakebed.commands.clone.cloned_files import ClonedFiles, copied, copy_all, referenced
from lakebed.commands.target.carried_metadata import (
    unclustered_if_partitioned,
    with_identity_marks,
    with_pins,
    with_row_id_names,
)
from lakebed.commands.target.clustering_columns import DOMAIN as CLUSTERING
from lakebed.commands.target.live_files import only_in, whole_files
from lakebed.commands.target.log_only import HANDLED_FEATURES
from lakebed.errors import InvalidArgumentError, TableExistsError
from lakebed.formats.file_actions import adds_from_table, adds_to_table
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.spec.actions import Action, Add, DomainMetadata, Metadata, Protocol, Remove
from lakebed.spec.columns.column_mapping import MODE, mapping_mode
from lakebed.spec.features import (
    check_writable,
    protocol_for,
    supported_features,
    upgraded,
    without_protocol_properties,
)
from lakebed.spec.iceberg_compat import enabled_compat
from lakebed.spec.paths import decode_path
from lakebed.spec.properties import TableProperties, check_together, validated
from lakebed.transaction import Committed, IsolationLevel, Operation, Transaction


@dataclass(frozen=True)
class CloneOptions:
    """`replace` clones over a table that is there. `root` is the source's URL as references to its
    files are to begin, where that is not the URL of its store. `source_name` is what the history
    calls the source, if it has a name.
    """

    shallow: bool = False
    replace: bool = False
    properties: Mapping[str, str] = field(default_factory=dict)
    root: str | None = None
    source_name: str | None = None
    user_metadata: str | None = None

    def __post_init__(self) -> None:
        for name, value in (("shallow", self.shallow), ("replace", self.replace)):
            if not isinstance(value, bool):
                raise InvalidArgumentError(f"{name}={value!r} is neither True nor False")
        if not isinstance(self.properties, Mapping):
            raise InvalidArgumentError(
                f"properties={self.properties!r} is not a mapping of names to texts"
            )


@dataclass(frozen=True)
class Cloned:
    """The clone, and what was done under the names of delta-spark's metrics."""

    snapshot: Snapshot
    metrics: dict[str, int]


def clone_table(source: Snapshot, log: TableLog, options: CloneOptions) -> Cloned:
    """Clone the version to where `log` is."""
    _check_places(source.store.url, log.store.url)
    existing = log.snapshot() if log.exists() else None
    if existing is not None and not options.replace:
        raise TableExistsError(
            f"the Delta table {log.store.url} already exists",
            hint="choose another place, or clone over it with replace=True",
            condition="DELTA_TABLE_ALREADY_EXISTS",
        )
    return _Clone(source, log, existing, options).run()


class _Clone:
    def __init__(
        self, source: Snapshot, log: TableLog, existing: Snapshot | None, options: CloneOptions
    ) -> None:
        self._source = source
        self._log = log
        self._existing = existing
        self._options = options
        self._root = options.root or source.store.url

    def run(self) -> Cloned:
        target = clone_target(self._source, self._existing, self._options.properties)
        files = self._files()
        adds, gone = self._changes(files.adds)
        transaction = self._transaction(target)
        copy_all(files.copies, self._log.store)
        now = int(time.time() * 1000)
        removes = [Remove.of(add, timestamp=now) for add in gone]
        transaction.stage(*self._head(target), *removes, *adds)
        metrics = self._metrics(files, gone)
        transaction.metrics(metrics)
        outcome = transaction.commit().unwrap()
        assert isinstance(outcome, Committed)
        return Cloned(outcome.snapshot, metrics)

    def _files(self) -> ClonedFiles:
        adds = [_without_ids(add) for add in adds_from_table(whole_files(self._source))]
        if self._options.shallow:
            # The clone could not be read: better now than then.
            self._log.store.resolve(f"{self._source.store.url}/_delta_log")
            return referenced(adds, self._root)
        return copied(adds, self._source, self._existing)

    def _changes(self, adds: list[Add]) -> tuple[list[Add], list[Add]]:
        """The files that are new to the clone, and those that it has and should not."""
        if self._existing is None:
            return adds, []
        before, after = whole_files(self._existing), adds_to_table(adds)
        gone = only_in(before, after)
        # Rows of a file that only gets another vector are the rows that they were.
        ids = {add.path: add for add in gone if add.base_row_id is not None}
        return [_with_ids(add, ids.get(add.path)) for add in only_in(after, before)], gone

    def _transaction(self, target: CloneTarget) -> Transaction:
        name = self._options.source_name or f"delta.`{self._root}`"
        parameters = {"source": name, "sourceVersion": self._source.version}
        transaction = Transaction(
            self._existing,
            store=self._log.store,
            operation=Operation(
                "CLONE", parameters, drops_features=target.drops_features, appends=False
            ),
            isolation=IsolationLevel.SERIALIZABLE,
            user_metadata=self._options.user_metadata,
            handles=HANDLED_FEATURES,
        )
        if self._existing is not None:
            transaction.read_whole_table()
        return transaction

    def _head(self, target: CloneTarget) -> list[Action]:
        """The metadata always, so that a change of it by another commit is a conflict."""
        actions: list[Action] = [target.metadata, *target.domains]
        if self._existing is None or target.protocol != self._existing.protocol:
            actions.insert(0, target.protocol)
        return actions

    def _metrics(self, files: ClonedFiles, gone: list[Add]) -> dict[str, int]:
        """As in delta-spark a shallow clone copies nothing. Vectors do not count as files."""
        data = [add for add in files.adds if decode_path(add.path) in files.copies]
        totals = self._source.totals
        return {
            "sourceTableSize": totals.size_in_bytes,
            "sourceNumOfFiles": totals.num_files,
            "numRemovedFiles": len(gone),
            "numCopiedFiles": len(data),
            "removedFilesSize": sum(add.size for add in gone),
            "copiedFilesSize": sum(add.size for add in data),
        }


def _without_ids(add: Add) -> Add:
    return replace(add, data_change=True, base_row_id=None, default_row_commit_version=None)


def _with_ids(add: Add, known: Add | None) -> Add:
    if known is None:
        return add
    version = known.default_row_commit_version
    return replace(add, base_row_id=known.base_row_id, default_row_commit_version=version)


def _check_places(source: str, target: str) -> None:
    one, other = (f"{url.rstrip('/')}/" for url in (source, target))
    if one.startswith(other) or other.startswith(one):
        raise InvalidArgumentError(
            f"{source} cannot be cloned to {target}: one would be inside the other",
            hint="VACUUM of the outer table deletes what it does not know; choose another place",
        )


# --- metadata and protocol of the clone -----------------------------------------------------------

_OF_THE_SOURCE = (
    TableProperties.in_commit_timestamp_enablement_version.key,
    TableProperties.in_commit_timestamp_enablement_timestamp.key,
    TableProperties.commit_coordinator.key,
    TableProperties.commit_coordinator_conf.key,
    TableProperties.commit_coordinator_table_conf.key,
)


@dataclass(frozen=True)
class CloneTarget:
    metadata: Metadata
    protocol: Protocol
    domains: tuple[DomainMetadata, ...]
    drops_features: bool = False
    """Whether the table in this place has features that the clone has not."""


def clone_target(
    source: Snapshot, existing: Snapshot | None, properties: Mapping[str, str]
) -> CloneTarget:
    """`existing` is the table in the place of the clone, if there is one."""
    asked = validated(properties)
    kept = {k: v for k, v in source.metadata.configuration.items() if k not in _OF_THE_SOURCE}
    current = {} if existing is None else existing.metadata.configuration
    configuration = {**with_pins(kept, current), **without_protocol_properties(asked)}
    check_together(configuration)
    _check_mapping(source, existing, configuration)
    _check_compat(source, configuration)
    protocol = _protocol(source, existing, {**configuration, **asked})
    metadata = replace(
        source.metadata,
        id=str(uuid.uuid4()) if existing is None else existing.metadata.id,
        name=None if existing is None else existing.metadata.name,
        description=None if existing is None else existing.metadata.description,
        schema_string=with_identity_marks(
            source.metadata.schema_string, None if existing is None else existing.schema
        ),
        configuration=with_row_id_names(configuration, protocol, current),
    )
    check_writable(protocol, metadata, handles=HANDLED_FEATURES)
    before = frozenset() if existing is None else supported_features(existing.protocol)
    drops = not before <= supported_features(protocol)
    return CloneTarget(metadata, protocol, _domains(source, existing), drops)


def _protocol(
    source: Snapshot, existing: Snapshot | None, configuration: Mapping[str, str]
) -> Protocol:
    """All that the source has, what the properties need, and what the table there has."""
    needed = protocol_for(source.schema, source.partition_columns, configuration)
    protocol = upgraded(source.protocol, supported_features(needed))
    if existing is None:
        return protocol
    both = upgraded(existing.protocol, supported_features(protocol))
    return unclustered_if_partitioned(both, source)


def _check_mapping(
    source: Snapshot, existing: Snapshot | None, configuration: Mapping[str, str]
) -> None:
    mode = mapping_mode(configuration)
    for table, snapshot in (("source", source), ("table to be replaced", existing)):
        if snapshot is not None and mapping_mode(snapshot.metadata.configuration) != mode:
            other = mapping_mode(snapshot.metadata.configuration)
            raise InvalidArgumentError(
                f"a clone cannot change {MODE}: it would be {mode}, and the {table} has {other}",
                hint="leave the property out, and clone to another place if the tables differ",
            )


def _check_compat(source: Snapshot, configuration: Mapping[str, str]) -> None:
    """Files of the source become files of the clone as they are."""
    compat = enabled_compat(configuration)
    if compat is not None and not compat.is_on(source.metadata.configuration):
        raise InvalidArgumentError(
            f"a clone cannot turn {compat.key} on: its files are those of the source",
            hint=f"leave the property out, and run {compat.reorg} on the clone",
        )


def _domains(source: Snapshot, existing: Snapshot | None) -> tuple[DomainMetadata, ...]:
    """Clustering columns are copied; other domains belong to the source alone."""
    new = source.domains.get(CLUSTERING)
    old = None if existing is None else existing.domains.get(CLUSTERING)
    if new is not None:
        return () if new == old else (new,)
    return () if old is None else (replace(old, removed=True),)
