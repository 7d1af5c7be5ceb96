"""How a table is cleaned of each feature before the feature is dropped.

One record for each feature that can be dropped. As in delta-spark, dropping a feature never changes
what users see of a table: constraints, for example, must be dropped by the user.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from lakebed.commands.alter.features.file_cleanup import (
    clean_column_mapping,
    clean_deletion_vectors,
    clean_type_widening,
    has_no_column_mapping,
    has_no_deletion_vectors,
    has_no_type_widening,
    uses_column_mapping,
    uses_deletion_vectors,
    uses_type_widening,
)
from lakebed.commands.alter.row_tracking_ids import take_row_ids
from lakebed.commands.alter.table_properties import plan_set_properties
from lakebed.commands.target.metadata_change import AlterTarget, Change, operation
from lakebed.errors import InvalidArgumentError
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Action, DomainMetadata, Metadata
from lakebed.spec.features import FEATURES
from lakebed.spec.properties import TableProperties
from lakebed.transaction.row_tracking import DOMAIN as ROW_TRACKING_DOMAIN

_ICT = TableProperties.enable_in_commit_timestamps.key
_ICT_ORIGIN = (
    TableProperties.in_commit_timestamp_enablement_timestamp.key,
    TableProperties.in_commit_timestamp_enablement_version.key,
)
_POLICY = TableProperties.checkpoint_policy.key
_ROW_TRACKING = TableProperties.enable_row_tracking.key
_SUSPENDED = TableProperties.row_tracking_suspended.key
PROTECTED_BEFORE = TableProperties.require_checkpoint_protection_before_version.key


def _nothing(_: AlterTarget) -> bool:
    return False


def _always(_: Snapshot) -> bool:
    return True


def _never(_: Action) -> bool:
    return False


def _no_actions(_: Snapshot) -> tuple[Action, ...]:
    return ()


@dataclass(frozen=True)
class FeatureCleanup:
    """`clean` removes what the feature left in the table, and returns whether there was anything.
    `is_clean` is the check of a version, `used_by` of an action in the history. `properties` and
    `actions` are removed by the commit that drops the feature.
    """

    clean: Callable[[AlterTarget], bool] = _nothing
    is_clean: Callable[[Snapshot], bool] = _always
    used_by: Callable[[Action], bool] = _never
    properties: tuple[str, ...] = ()
    actions: Callable[[Snapshot], tuple[Action, ...]] = _no_actions


def needs_history(name: str) -> bool:
    """Whether readers of older versions still need the feature: those that readers must know."""
    return FEATURES[name].reader


# --- features of the log ------------------------------------------------------------------------


def _clean_constraints(target: AlterTarget) -> bool:
    names = sorted(target.log.snapshot().properties.constraints)
    if names:
        raise InvalidArgumentError(
            f"the table has CHECK constraints: {', '.join(names)}",
            hint="drop them first (drop_constraint)",
        )
    return False


def _clean_timestamps(target: AlterTarget) -> bool:
    snapshot = target.log.snapshot()
    if _has_no_timestamps(snapshot):
        return False
    target.apply(_plan_without_timestamps)
    return True


def _plan_without_timestamps(snapshot: Snapshot) -> Change:
    there = [key for key in _ICT_ORIGIN if key in snapshot.metadata.configuration]
    change = plan_set_properties(snapshot, {_ICT: "false"})
    assert change.metadata is not None
    kept = {k: v for k, v in change.metadata.configuration.items() if k not in there}
    done = operation("UNSET TBLPROPERTIES", properties=[*there, _ICT], ifExists=True)
    return Change(done, replace(change.metadata, configuration=kept))


def _has_no_timestamps(snapshot: Snapshot) -> bool:
    there = snapshot.metadata.configuration
    return not (
        snapshot.properties.enable_in_commit_timestamps or any(key in there for key in _ICT_ORIGIN)
    )


def _clean_checkpoints(target: AlterTarget) -> bool:
    if target.log.snapshot().properties.checkpoint_policy != "v2":
        return False
    target.apply(lambda snapshot: plan_set_properties(snapshot, {_POLICY: "classic"}))
    return True


def _has_plain_checkpoint(snapshot: Snapshot) -> bool:
    ref = snapshot.segment.checkpoint
    named = ref is not None and any(file.unique is not None for file in ref.files)
    return snapshot.properties.checkpoint_policy != "v2" and not named


def _wants_v2(action: Action) -> bool:
    return isinstance(action, Metadata) and _properties(action).checkpoint_policy == "v2"


def _clean_domains(target: AlterTarget) -> bool:
    target.apply(_plan_without_domains)
    return False


def _plan_without_domains(snapshot: Snapshot) -> Change | None:
    gone = [DomainMetadata(name, "", removed=True) for name in snapshot.domains]
    if not gone:
        return None
    done = operation("DOMAIN METADATA CLEANUP", domainMetadataRemovedCount=len(gone))
    return Change(done, actions=tuple(gone))


# --- features of rows ---------------------------------------------------------------------------


def _clean_row_ids(target: AlterTarget) -> bool:
    """Nobody gives out ids any more, then the files lose theirs."""
    suspend = {_ROW_TRACKING: "false", _SUSPENDED: "true"}
    if not target.log.snapshot().properties.row_tracking_suspended:
        target.apply(lambda snapshot: plan_set_properties(snapshot, suspend))
    take_row_ids(target)
    return False


def _has_no_row_ids(snapshot: Snapshot) -> bool:
    ids = snapshot.files(["path", "baseRowId"]).column("baseRowId")
    return not snapshot.properties.enable_row_tracking and ids.null_count == len(ids)


def _without_row_domain(snapshot: Snapshot) -> tuple[Action, ...]:
    domain = snapshot.domains.get(ROW_TRACKING_DOMAIN)
    if domain is None:
        return ()
    return (DomainMetadata(ROW_TRACKING_DOMAIN, domain.configuration, removed=True),)


def _properties(metadata: Metadata) -> TableProperties:
    return TableProperties(metadata.configuration)


_TYPE_WIDENING = FeatureCleanup(clean_type_widening, has_no_type_widening, uses_type_widening)

CLEANUPS: Mapping[str, FeatureCleanup] = {
    "checkConstraints": FeatureCleanup(
        _clean_constraints, lambda snapshot: not snapshot.properties.constraints
    ),
    "columnMapping": FeatureCleanup(
        clean_column_mapping, has_no_column_mapping, uses_column_mapping
    ),
    "deletionVectors": FeatureCleanup(
        clean_deletion_vectors,
        has_no_deletion_vectors,
        uses_deletion_vectors,
    ),
    "rowTracking": FeatureCleanup(
        _clean_row_ids,
        _has_no_row_ids,
        properties=(
            _ROW_TRACKING,
            _SUSPENDED,
            TableProperties.materialized_row_id_column.key,
            TableProperties.materialized_row_commit_version_column.key,
        ),
        actions=_without_row_domain,
    ),
    "domainMetadata": FeatureCleanup(_clean_domains, lambda snapshot: not snapshot.domains),
    "materializePartitionColumns": FeatureCleanup(
        properties=(TableProperties.enable_materialize_partition_columns.key,)
    ),
    "v2Checkpoint": FeatureCleanup(_clean_checkpoints, _has_plain_checkpoint, _wants_v2),
    "inCommitTimestamp": FeatureCleanup(_clean_timestamps, _has_no_timestamps),
    "typeWidening": _TYPE_WIDENING,
    "typeWidening-preview": _TYPE_WIDENING,
    "vacuumProtocolCheck": FeatureCleanup(),
    "checkpointProtection": FeatureCleanup(
        is_clean=lambda snapshot: PROTECTED_BEFORE not in snapshot.metadata.configuration
    ),
}
"""By the name of the feature."""
