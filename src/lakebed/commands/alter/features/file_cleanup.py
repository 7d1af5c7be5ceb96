"""Cleaning up features that are in the data files: column mapping, deletion vectors, type widening.

Each has three functions for `FeatureCleanup`. Files are rewritten without Spark.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from dataclasses import replace

import pyarrow.parquet as pq

from lakebed.arrow.scan import plan_scan, read_file
from lakebed.arrow.write.write import FileLayout, write_files
from lakebed.commands.alter.table_properties import plan_unset_properties
from lakebed.commands.target.clustering_columns import clustering_columns, clustering_domain
from lakebed.commands.target.column_names import as_json, described
from lakebed.commands.target.metadata_change import AlterTarget, Change, operation
from lakebed.errors import UnsupportedFeatureError
from lakebed.formats.arrow_types import from_arrow_schema
from lakebed.formats.file_actions import adds_from_table, removes_from_table
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Action, Add, AddCdc, Metadata, Remove
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

# --- column mapping -------------------------------------------------------------------------------


def clean_column_mapping(target: AlterTarget) -> bool:
    if has_no_column_mapping(target.log.snapshot()):
        return False
    target.apply(_plan_without_mapping)
    return True


def has_no_column_mapping(snapshot: Snapshot) -> bool:
    mode = mapping_mode(snapshot.metadata.configuration)
    return mode == "none" and not has_mapping(snapshot.schema)


def uses_column_mapping(action: Action) -> bool:
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


def clean_deletion_vectors(target: AlterTarget) -> bool:
    """No new vectors, then no vectors, then signs that keep the files of old ones from VACUUM."""
    snapshot = target.log.snapshot()
    _check_rewritable(snapshot, _with_vectors(snapshot))
    found = not has_no_deletion_vectors(snapshot)
    if _VECTORS in snapshot.metadata.configuration:
        target.apply(lambda newest: plan_unset_properties(newest, [_VECTORS], if_exists=True))
    target.apply(_plan_purge)
    target.apply(_plan_tombstones)
    return found


def has_no_deletion_vectors(snapshot: Snapshot) -> bool:
    return not snapshot.properties.enable_deletion_vectors and not _with_vectors(snapshot)


def uses_deletion_vectors(action: Action) -> bool:
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


def clean_type_widening(target: AlterTarget) -> bool:
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


def has_no_type_widening(snapshot: Snapshot) -> bool:
    return not snapshot.properties.enable_type_widening and not _has_changes(snapshot.schema)


def uses_type_widening(action: Action) -> bool:
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
