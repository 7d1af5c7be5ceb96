"""Files with narrower types, and the record of them, before the feature typeWidening is dropped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow.parquet as pq

from lakebed.commands.alter.features.rewrite_files import check_rewritable, rewritten
from lakebed.commands.alter.table_properties import plan_unset_properties
from lakebed.commands.target.column_names import as_json, described
from lakebed.commands.target.metadata_change import AlterTarget, Change, operation
from lakebed.data_files.file_layout import FileLayout
from lakebed.formats.arrow_types import from_arrow_schema
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Action, Metadata
from lakebed.spec.columns.column_mapping import mapping_mode, physical_schema
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

_KEY = TableProperties.enable_type_widening.key


def clean(target: AlterTarget) -> bool:
    """No new changes of types, then no files from before the changes, then no record of them."""
    snapshot = target.log.snapshot()
    check_rewritable(snapshot, list(_narrow_files(snapshot)))
    if _KEY in snapshot.metadata.configuration:
        target.apply(lambda newest: plan_unset_properties(newest, [_KEY], if_exists=True))
    if not _has_changes(snapshot.schema):
        return False
    target.apply(_plan_rewrite)
    target.apply(_plan_forget)
    return True


def is_clean(snapshot: Snapshot) -> bool:
    return not snapshot.properties.enable_type_widening and not _has_changes(snapshot.schema)


def used_by(action: Action) -> bool:
    return isinstance(action, Metadata) and _has_changes(parse_schema(action.schema_string))


def _has_changes(schema: StructType) -> bool:
    return any(TYPE_CHANGES in field.metadata for _, field in walk(schema))


def _plan_rewrite(snapshot: Snapshot) -> Change | None:
    paths = set(_narrow_files(snapshot))
    if not paths:
        return None
    layout = FileLayout.of(snapshot.metadata, snapshot.protocol)
    done = operation("REORG", predicate=[], applyPurge=False)
    return Change(done, actions=rewritten(snapshot, paths, layout))


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
    return found is not None and _plain(found[1].data_type) != _plain(wanted)


def _plain(data_type: DataType) -> str:
    return str(data_type).replace(" not null", "")
