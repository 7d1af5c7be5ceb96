"""Columns under their own names again, before the feature columnMapping is dropped."""

from __future__ import annotations

from dataclasses import replace

from lakebed.commands.alter.features.rewrite_files import rewritten
from lakebed.commands.target.clustering_columns import clustering_columns, clustering_domain
from lakebed.commands.target.metadata_change import AlterTarget, Change, operation
from lakebed.data_files.file_layout import FileLayout
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Action, Metadata
from lakebed.spec.columns.column_mapping import (
    MAX_COLUMN_ID,
    MODE,
    has_mapping,
    mapping_mode,
    max_column_id,
    physical_name,
    strip,
)
from lakebed.spec.columns.schema_validation import validate_plain_names
from lakebed.spec.schema import schema_to_json, walk


def clean(target: AlterTarget) -> bool:
    if is_clean(target.log.snapshot()):
        return False
    target.apply(_plan)
    return True


def is_clean(snapshot: Snapshot) -> bool:
    mode = mapping_mode(snapshot.metadata.configuration)
    return mode == "none" and not has_mapping(snapshot.schema)


def used_by(action: Action) -> bool:
    return isinstance(action, Metadata) and mapping_mode(action.configuration) != "none"


def _plan(snapshot: Snapshot) -> Change:
    """Files whose columns have other names are written anew, in the same commit."""
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
        actions = rewritten(snapshot, paths, FileLayout.of(metadata, snapshot.protocol))
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
