"""Whether actions may be committed at all (PROTOCOL: Delta Log Entries, Consistency Between Table
Metadata and Data Files, Append-only Tables, Deletion Vectors, Domain Metadata).

`check_actions` looks at the actions alone, once. `check_table` looks at them together with the
table that they would go to, and again whenever another commit came first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from lakebed.errors import AppendOnlyError, InvalidCommitError, SchemaError
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import (
    NAMES,
    Action,
    Add,
    AddCdc,
    CheckpointMetadata,
    CommitInfo,
    DomainMetadata,
    Metadata,
    Protocol,
    Remove,
    Sidecar,
    Txn,
)
from lakebed.spec.columns.column_mapping import physical_name
from lakebed.spec.columns.column_metadata import identity
from lakebed.spec.columns.schema_validation import validate
from lakebed.spec.features import check_writable, missing_features, supported_features
from lakebed.spec.iceberg_compat import (
    IcebergCompat,
    active_compat,
    check_compat,
    publishes,
)
from lakebed.spec.properties import TableProperties
from lakebed.spec.schema import StructField, parse_schema
from lakebed.transaction.proposal import Proposal
from lakebed.transaction.read_set import paths_of
from lakebed.transaction.row_tracking import DOMAIN as ROW_TRACKING_DOMAIN
from lakebed.transaction.row_tracking import physical_records

_SYSTEM_DOMAINS = frozenset(["delta.clustering"])


def check_actions(actions: Sequence[Action]) -> None:
    for action in actions:
        if isinstance(action, CommitInfo | Sidecar | CheckpointMetadata):
            raise InvalidCommitError(
                f"a {NAMES[type(action)]} action cannot be staged",
                hint="commitInfo is written by the transaction, the others belong to checkpoints",
            )
    _unique(actions, Metadata, lambda _: None, "two metaData actions")
    _unique(actions, Protocol, lambda _: None, "two protocol actions")
    _unique(actions, Txn, lambda txn: txn.app_id, "two txn actions for the application {}")
    _unique(actions, DomainMetadata, lambda d: d.domain, "two actions for the domain {}")
    _check_files(actions)
    for action in actions:
        if isinstance(action, DomainMetadata):
            _check_domain(action)


@dataclass(frozen=True)
class Target:
    """The table as it will be."""

    protocol: Protocol
    metadata: Metadata

    @cached_property
    def features(self) -> frozenset[str]:
        return supported_features(self.protocol)

    @cached_property
    def properties(self) -> TableProperties:
        return TableProperties(self.metadata.configuration)

    @cached_property
    def compat(self) -> IcebergCompat | None:
        return active_compat(self.protocol, self.metadata)

    @cached_property
    def partitions(self) -> dict[str, bool]:
        """Physical names of the partition columns, and whether they may be null."""
        columns = self.metadata.partition_columns
        if not columns:
            return {}
        schema = parse_schema(self.metadata.schema_string)
        fields = [schema.field(name) for name in columns]
        return {physical_name(field): field.nullable for field in fields}


def target_of(proposal: Proposal, base: Snapshot | None) -> Target:
    protocol = proposal.protocol or (None if base is None else base.protocol)
    metadata = proposal.metadata or (None if base is None else base.metadata)
    if protocol is None or metadata is None:
        raise InvalidCommitError(
            "the first commit of a table needs a protocol and a metaData action",
            hint="stage both",
        )
    return Target(protocol, metadata)


def check_table(proposal: Proposal, base: Snapshot | None, target: Target) -> None:
    if base is not None:
        check_writable(base.protocol, base.metadata, handles=proposal.handles)
        _check_append_only(proposal, base)
    if proposal.protocol is not None or proposal.metadata is not None or base is None:
        _check_change(proposal, base, target)
    for action in proposal.actions:
        if isinstance(action, Add):
            _check_add(action, target)
        elif isinstance(action, AddCdc):
            _check_partition_values(action, target)
            _need_feature(target, "changeDataFeed", "a cdc action")
        elif isinstance(action, DomainMetadata):
            _need_feature(target, "domainMetadata", "a domainMetadata action")
    for mark in proposal.marks:
        if mark.rows.cardinality:
            _check_partition_values(mark.add, target)
            _check_vector(mark.add, target)


def _check_change(proposal: Proposal, base: Snapshot | None, target: Target) -> None:
    """A new protocol and new metadata must go together."""
    if proposal.metadata is not None:
        schema = parse_schema(target.metadata.schema_string)
        validate(schema)
        known = () if base is None else base.metadata.partition_columns
        for name in target.metadata.partition_columns:
            _check_partition_column(schema.field(name), is_new=name not in known)
    check_writable(target.protocol, target.metadata, handles=proposal.handles)
    missing = missing_features(target.protocol, target.metadata)
    if missing:
        raise InvalidCommitError(
            f"the metadata needs {_listed(missing)}, which the protocol does not list",
            hint="commit an upgraded protocol with the metadata",
        )
    _check_manifests(base, target)
    check_compat(target.protocol, target.metadata, None if base is None else base.metadata)
    _check_published(base, target)
    dropped = frozenset() if base is None else supported_features(base.protocol) - target.features
    if dropped and not proposal.operation.drops_features:
        raise InvalidCommitError(
            f"the new protocol would drop {_listed(dropped)}",
            hint="a protocol can only gain features; dropping one is an operation of its own",
        )


def _check_partition_column(column: StructField, *, is_new: bool) -> None:
    """A mark follows the statistics of files, which have none for partition columns."""
    if is_new and identity(column) is not None:
        raise SchemaError(
            f"the identity column {column.name!r} cannot be a partition column",
            hint="partition by another column",
            condition="DELTA_IDENTITY_COLUMNS_PARTITION_NOT_SUPPORTED",
        )


def _check_manifests(base: Snapshot | None, target: Target) -> None:
    """Manifests are turned on only where there are no vectors, which their readers do not know."""
    if base is None or not target.properties.symlink_format_manifest:
        return
    if not base.properties.symlink_format_manifest and base.totals.num_deletion_vectors:
        raise InvalidCommitError(
            f"{base.totals.num_deletion_vectors} files have deletion vectors, which readers of "
            "symlink manifests do not know",
            hint="purge the vectors before you turn the manifests on",
        )


def _check_published(base: Snapshot | None, target: Target) -> None:
    """Readers of Iceberg are promised the table only when they can read all its files."""
    if base is None or publishes(base.metadata.configuration):
        return
    if publishes(target.metadata.configuration) and base.totals.num_deletion_vectors:
        raise InvalidCommitError(
            f"{base.totals.num_deletion_vectors} files have deletion vectors, which readers of "
            "Iceberg do not know",
            hint=f"run {target.compat.reorg}" if target.compat else "purge them first",
        )


def _check_append_only(proposal: Proposal, base: Snapshot) -> None:
    if not base.properties.append_only:
        return
    removed = [remove.path for remove in proposal.removes if remove.data_change]
    removed += [mark.add.path for mark in proposal.marks if mark.rows.cardinality]
    if removed:
        raise AppendOnlyError(
            f"the table is append-only, but {proposal.operation.name} removes {removed[0]}",
            hint="set delta.appendOnly to false first",
        )


def _check_add(add: Add, target: Target) -> None:
    _check_partition_values(add, target)
    if add.deletion_vector is not None:
        _check_vector(add, target)
    if target.compat is not None and physical_records(add) is None:
        raise InvalidCommitError(
            f"{add.path} has no numRecords in its statistics, which {target.compat.feature} needs",
            hint="files of such tables must say how many rows they hold",
        )


def _check_vector(add: Add, target: Target) -> None:
    """Of a file that has a deletion vector, or is about to get one."""
    if target.compat is not None:
        raise InvalidCommitError(
            f"{add.path} has a deletion vector, which {target.compat.feature} does not allow",
            hint=f"run {target.compat.reorg}, which rewrites such files",
        )
    _need_feature(target, "deletionVectors", f"{add.path} has a deletion vector, which")
    if physical_records(add) is None:
        raise InvalidCommitError(
            f"{add.path} has a deletion vector but no numRecords in its statistics",
            hint="files with deletion vectors must say how many rows they hold",
        )


def _check_partition_values(action: Add | AddCdc, target: Target) -> None:
    partitions, values = target.partitions, action.partition_values
    if values.keys() != partitions.keys():
        raise InvalidCommitError(
            f"{action.path} has partition values for {sorted(values)}, but the table is "
            f"partitioned by {list(partitions)}",
            hint="give every file a value for each partition column, by its physical name",
        )
    for name, nullable in partitions.items():
        if not nullable and not values[name]:
            raise InvalidCommitError(
                f"{action.path} has no value for the partition column {name}, which is NOT NULL"
            )


def _check_domain(domain: DomainMetadata) -> None:
    name = domain.domain
    if name == ROW_TRACKING_DOMAIN and domain.removed:
        return  # goes with its feature
    if name == ROW_TRACKING_DOMAIN or (name.startswith("delta.") and name not in _SYSTEM_DOMAINS):
        raise InvalidCommitError(
            f"the metadata domain {name} belongs to the system",
            hint="use a domain whose name does not begin with 'delta.'",
        )


def _check_files(actions: Sequence[Action]) -> None:
    adds = [action for action in actions if isinstance(action, Add)]
    removes = [action for action in actions if isinstance(action, Remove)]
    added, removed = paths_of(adds), paths_of(removes)
    _once(added, "the file {} is added twice")
    _once(removed, "the file {} is removed twice")
    # The same path may come back with another deletion vector: that is another logical file.
    keys = {(path, add.key[1]) for path, add in zip(added, adds, strict=True)}
    for path, remove in zip(removed, removes, strict=True):
        if (path, remove.key[1]) in keys:
            raise InvalidCommitError(f"the same file is added and removed: {remove.path}")


def _unique(
    actions: Iterable[Action], kind: type, key: Callable[[Any], Hashable], message: str
) -> None:
    _once([key(action) for action in actions if isinstance(action, kind)], message)


def _once(names: Sequence[Hashable], message: str) -> None:
    if len(set(names)) == len(names):
        return
    twice = next(name for name, count in Counter(names).items() if count > 1)
    raise InvalidCommitError(
        message.format(twice), hint="a commit says each thing once; stage it once"
    )


def _need_feature(target: Target, feature: str, what: str) -> None:
    if feature not in target.features:
        raise InvalidCommitError(
            f"{what} needs the table feature {feature}, which the table does not have",
            hint=f"set delta.feature.{feature} = 'supported' first",
        )


def _listed(names: Iterable[str]) -> str:
    return f"the table feature(s) {', '.join(sorted(names))}"
