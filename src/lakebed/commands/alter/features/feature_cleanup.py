"""How a table is cleaned of each feature before the feature is dropped.

One record for each feature that can be dropped. As in delta-spark, dropping a feature never changes
what users see of a table: constraints, for example, must be dropped by the user.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace

import pyarrow.parquet as pq

from lakebed.arrow.scan import plan_scan, read_file
from lakebed.arrow.write.write import write_files
from lakebed.commands.alter.row_tracking_ids import take_row_ids
from lakebed.commands.alter.table_properties import plan_set_properties, plan_unset_properties
from lakebed.commands.target.clustering_columns import clustering_columns, clustering_domain
from lakebed.commands.target.column_names import as_json, described
from lakebed.commands.target.metadata_change import AlterTarget, Change, operation
from lakebed.data_files.file_layout import FileLayout
from lakebed.errors import InvalidArgumentError, UnsupportedFeatureError
from lakebed.formats.arrow_types import from_arrow_schema
from lakebed.formats.file_actions import adds_from_table, removes_from_table
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Action, Add, AddCdc, DomainMetadata, Metadata, Remove
from lakebed.spec.columns.column_mapping import (
    MAX_COLUMN_ID,
    MODE,
    has_mapping,
    mapping_mode,
    max_column_id,
    physical_name,
    physical_schema,
    strip,
)
from lakebed.spec.columns.schema_validation import validate_plain_names
from lakebed.spec.columns.type_widening import TYPE_CHANGES, strip_type_changes
from lakebed.spec.feature_table import FEATURES
from lakebed.spec.properties import TableProperties
from lakebed.spec.schema import (
    DataType,
    Path,
    StructType,
    find_path,
    parse_schema,
    schema_to_json,
    walk,
)
from lakebed.spec.vector_descriptors import log_path
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
            condition="DELTA_CANNOT_DROP_CHECK_CONSTRAINT_FEATURE",
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


# --- column mapping -------------------------------------------------------------------------------


def _clean_column_mapping(target: AlterTarget) -> bool:
    if _has_no_column_mapping(target.log.snapshot()):
        return False
    target.apply(_plan_without_mapping)
    return True


def _has_no_column_mapping(snapshot: Snapshot) -> bool:
    mode = mapping_mode(snapshot.metadata.configuration)
    return mode == "none" and not has_mapping(snapshot.schema)


def _uses_column_mapping(action: Action) -> bool:
    return isinstance(action, Metadata) and mapping_mode(action.configuration) != "none"


def _plan_without_mapping(snapshot: Snapshot) -> Change:
    """Files whose columns have other names are rewritten, in the same commit."""
    schema = strip(snapshot.schema)
    validate_plain_names(schema)
    configuration = {
        key: value
        for key, value in snapshot.metadata.configuration.items()
        if key not in (MODE, MAX_COLUMN_ID)
    }
    metadata = replace(
        snapshot.metadata, schema_string=schema_to_json(schema), configuration=configuration
    )
    actions: tuple[Action, ...] = ()
    if not _files_have_these_names(snapshot):
        paths = set(snapshot.files(["path"]).column("path").to_pylist())
        actions = _rewritten(snapshot, paths, FileLayout.of(metadata, snapshot.protocol))
        columns = clustering_columns(snapshot)
        if columns is not None:
            actions = (*actions, clustering_domain(schema, columns, "none"))
    done = operation("REMOVE COLUMN MAPPING")
    return Change(done, metadata, actions=actions, reads_rows=True)


def _files_have_these_names(snapshot: Snapshot) -> bool:
    """Whether files can stay: all columns are in them by their names, and no others.

    Data of a dropped column would come back with the next column of its name. Every column that
    there ever was has had an id.
    """
    fields = [field for _, field in walk(snapshot.schema)]
    ever = max_column_id(snapshot.schema, snapshot.metadata.configuration)
    return ever == len(fields) and all(physical_name(f) == f.name for f in fields)


# --- deletion vectors -----------------------------------------------------------------------------

_VECTORS = TableProperties.enable_deletion_vectors.key


def _clean_deletion_vectors(target: AlterTarget) -> bool:
    """No new vectors, then no vectors, then signs that keep the files of old ones from VACUUM."""
    snapshot = target.log.snapshot()
    _check_rewritable(snapshot, _with_vectors(snapshot))
    found = not _has_no_deletion_vectors(snapshot)
    if _VECTORS in snapshot.metadata.configuration:
        target.apply(lambda newest: plan_unset_properties(newest, [_VECTORS], if_exists=True))
    target.apply(_plan_purge)
    target.apply(_plan_tombstones)
    return found


def _has_no_deletion_vectors(snapshot: Snapshot) -> bool:
    return not snapshot.properties.enable_deletion_vectors and not _with_vectors(snapshot)


def _uses_deletion_vectors(action: Action) -> bool:
    if isinstance(action, Metadata):
        return TableProperties(action.configuration).enable_deletion_vectors
    if isinstance(action, Add | Remove):
        return action.deletion_vector is not None
    return isinstance(action, AddCdc) and "deletionVector" in action.extra


def _with_vectors(snapshot: Snapshot) -> set[str]:
    files = snapshot.files(["path", "deletionVector"])
    marked = files.filter(files.column("deletionVector").is_valid())
    return set(marked.column("path").to_pylist())


def _plan_purge(snapshot: Snapshot) -> Change | None:
    paths = _with_vectors(snapshot)
    if not paths:
        return None
    layout = FileLayout.of(snapshot.metadata, snapshot.protocol)
    done = operation("REORG", predicate=[], applyPurge=True)
    return Change(done, actions=_rewritten(snapshot, paths, layout))


def _plan_tombstones(snapshot: Snapshot) -> Change | None:
    """Who does not know vectors would take their files for orphans, while older versions can still
    be read: tombstones name these files as any other.
    """
    now = int(time.time() * 1000)
    oldest = now - snapshot.properties.deleted_file_retention_ms
    removes = removes_from_table(snapshot.tombstones())
    known = {remove.path for remove in removes if remove.deletion_vector is None}
    recent = [remove for remove in removes if (remove.deletion_timestamp or 0) >= oldest]
    vectors = [remove.deletion_vector for remove in recent if remove.deletion_vector is not None]
    paths = dict.fromkeys(path for vector in vectors if (path := log_path(vector)) is not None)
    signs = [Remove(path, False, now) for path in paths if path not in known]
    if not signs:
        return None
    return Change(operation("Deletion Vector Tombstones"), actions=tuple(signs))


# --- type widening --------------------------------------------------------------------------------

_WIDENING = TableProperties.enable_type_widening.key


def _clean_type_widening(target: AlterTarget) -> bool:
    """No new changes of types, then no files from before the changes, then no record of them."""
    snapshot = target.log.snapshot()
    _check_rewritable(snapshot, list(_narrow_files(snapshot)))
    if _WIDENING in snapshot.metadata.configuration:
        target.apply(lambda newest: plan_unset_properties(newest, [_WIDENING], if_exists=True))
    if not _has_changes(snapshot.schema):
        return False
    target.apply(_plan_rewrite)
    target.apply(_plan_forget)
    return True


def _has_no_type_widening(snapshot: Snapshot) -> bool:
    return not snapshot.properties.enable_type_widening and not _has_changes(snapshot.schema)


def _uses_type_widening(action: Action) -> bool:
    return isinstance(action, Metadata) and _has_changes(parse_schema(action.schema_string))


def _has_changes(schema: StructType) -> bool:
    return any(TYPE_CHANGES in field.metadata for _, field in walk(schema))


def _plan_rewrite(snapshot: Snapshot) -> Change | None:
    paths = set(_narrow_files(snapshot))
    if not paths:
        return None
    layout = FileLayout.of(snapshot.metadata, snapshot.protocol)
    done = operation("REORG", predicate=[], applyPurge=False)
    return Change(done, actions=_rewritten(snapshot, paths, layout))


def _plan_forget(snapshot: Snapshot) -> Change:
    """Depends on the files: one that came meanwhile may be of a writer that was slow."""
    changed = [(path, f) for path, f in walk(snapshot.schema) if TYPE_CHANGES in f.metadata]
    shown = [described(path[:-1], field) for path, field in changed]
    schema = schema_to_json(strip_type_changes(snapshot.schema))
    metadata = replace(snapshot.metadata, schema_string=schema)
    done = operation("DROP FEATURE", columns=as_json(shown))
    return Change(done, metadata, reads_rows=True)


def _narrow_files(snapshot: Snapshot) -> Iterator[str]:
    """Files in which a column whose type changed has another type than the table."""
    wanted = dict(_changed_types(snapshot))
    if not wanted:
        return
    for path in snapshot.files(["path"]).column("path").to_pylist():
        store, name = snapshot.store.resolve(path)
        with store.open_input(name) as file:
            stored = from_arrow_schema(pq.read_schema(file))
        if any(_differs(stored, where, kind) for where, kind in wanted.items()):
            yield path


def _changed_types(snapshot: Snapshot) -> Iterator[tuple[Path, DataType]]:
    mode = mapping_mode(snapshot.metadata.configuration)
    for path, field in walk(physical_schema(snapshot.schema, mode)):
        if TYPE_CHANGES in field.metadata:
            yield path, field.data_type


def _differs(stored: StructType, path: Path, wanted: DataType) -> bool:
    found = find_path(stored, path)
    return found is not None and _type_text(found[1].data_type) != _type_text(wanted)


def _type_text(data_type: DataType) -> str:
    return str(data_type).replace(" not null", "")


# --- rewriting files ------------------------------------------------------------------------------


def _rewritten(
    snapshot: Snapshot, paths: Collection[str], layout: FileLayout
) -> tuple[Action, ...]:
    """Writes the live rows of some files again; the actions that replace the old files.

    One file at a time is in memory. Nothing changes for readers until the actions are committed.
    """
    _check_rewritable(snapshot, paths)
    actions: list[Action] = []
    now = int(time.time() * 1000)
    for add in adds_from_table(snapshot.files()):
        if add.path in paths:
            actions.append(Remove.of(add, timestamp=now, data_change=False))
    plan = plan_scan(snapshot)
    for row in plan.files.to_pylist():
        if row["path"] in paths:
            table = read_file(plan, row)
            if table.num_rows:
                actions += write_files(snapshot.store, layout, table, data_change=False)
    return tuple(actions)


def _check_rewritable(snapshot: Snapshot, paths: Collection[str]) -> None:
    """Refuses where rows have ids, which new files would not have."""
    if snapshot.properties.enable_row_tracking and paths:
        raise UnsupportedFeatureError(
            f"{len(paths)} files would be written anew, and their rows would lose their ids",
            features=["rowTracking"],
            hint="drop the feature rowTracking first, or run REORG ... APPLY (PURGE) on Spark",
        )


# --- all of them ----------------------------------------------------------------------------------

_TYPE_WIDENING = FeatureCleanup(_clean_type_widening, _has_no_type_widening, _uses_type_widening)

CLEANUPS: Mapping[str, FeatureCleanup] = {
    "checkConstraints": FeatureCleanup(
        _clean_constraints, lambda snapshot: not snapshot.properties.constraints
    ),
    "columnMapping": FeatureCleanup(
        _clean_column_mapping, _has_no_column_mapping, _uses_column_mapping
    ),
    "deletionVectors": FeatureCleanup(
        _clean_deletion_vectors,
        _has_no_deletion_vectors,
        _uses_deletion_vectors,
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
