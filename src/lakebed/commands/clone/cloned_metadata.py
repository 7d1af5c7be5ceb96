"""What metadata and protocol a clone has, as in delta-spark: the source's, with some of its own.

A clone is another table: it has an id of its own, and gives out ids of rows by itself. One that is
cloned anew stays the table that it is.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace

from lakebed.commands.target.carried_metadata import (
    unclustered_if_partitioned,
    with_identity_marks,
    with_pins,
    with_row_id_names,
)
from lakebed.commands.target.clustering_columns import DOMAIN as CLUSTERING
from lakebed.commands.target.log_only import HANDLED_FEATURES
from lakebed.errors import InvalidArgumentError
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import DomainMetadata, Metadata, Protocol
from lakebed.spec.columns.column_mapping import MODE, mapping_mode
from lakebed.spec.features import (
    check_writable,
    protocol_for,
    supported_features,
    upgraded,
    without_protocol_properties,
)
from lakebed.spec.iceberg_compat import enabled_compat
from lakebed.spec.properties import TableProperties, check_together, validated

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
