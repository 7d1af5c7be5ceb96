"""RENAME COLUMN: the files keep the name that they have (PROTOCOL: Column Mapping)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lakebed.commands.alter.columns.dependents import check_nothing_depends, renamed_in_settings
from lakebed.commands.target.column_names import ColumnName, to_path
from lakebed.commands.target.metadata_change import AlterTarget, Change, operation, schema_change
from lakebed.errors import InvalidArgumentError, SchemaError
from lakebed.log.snapshot import Snapshot
from lakebed.spec.columns.column_mapping import mapping_mode
from lakebed.spec.columns.schema_edits import replace_field
from lakebed.spec.schema import Path, StructType, find_path, render_path, resolve


def rename_column(target: AlterTarget, name: ColumnName, new_name: str) -> Snapshot:
    """`new_name` has no path: a column stays in its struct."""
    path, new = to_path(name), _plain(new_name)
    return target.apply(lambda snapshot: plan_rename_column(snapshot, path, new))


def plan_rename_column(snapshot: Snapshot, path: Path, new_name: str) -> Change:
    check_mapped(snapshot, path, "renamed")
    old, column = resolve(snapshot.schema, path)
    new = (*old[:-1], new_name)
    _check_free(snapshot.schema, old, new)
    check_nothing_depends(snapshot, old, "renamed")
    schema = replace_field(snapshot.schema, old, replace(column, name=new_name))
    metadata = replace(
        snapshot.metadata,
        partition_columns=tuple(
            new_name if old == (each,) else each for each in snapshot.partition_columns
        ),
        configuration=renamed_in_settings(snapshot.metadata.configuration, old, new),
    )
    done = operation(
        "RENAME COLUMN", oldColumnPath=render_path(old), newColumnPath=render_path(new)
    )
    return schema_change(snapshot, schema, done, metadata)


def check_mapped(snapshot: Snapshot, path: Path, verb: str) -> None:
    """Refuses where files have the columns under the very names that users see."""
    if mapping_mode(snapshot.metadata.configuration) == "none":
        raise SchemaError(
            f"column {render_path(path)} cannot be {verb}: the files of the table have their "
            "columns by name",
            hint="set the property delta.columnMapping.mode to name first; older readers can then "
            "no longer read the table",
            condition=_UNMAPPED[verb],
        )


_UNMAPPED = {
    "renamed": "DELTA_UNSUPPORTED_RENAME_COLUMN",
    "dropped": "DELTA_UNSUPPORTED_DROP_COLUMN",
}


def _check_free(schema: StructType, old: Path, new: Path) -> None:
    found = find_path(schema, new)
    if found is not None and found[0] != old:
        raise SchemaError(
            f"the table has a column {render_path(new)} already", hint="choose another name"
        )


def _plain(name: Any) -> str:
    if not isinstance(name, str) or not name:
        raise InvalidArgumentError(
            f"{name!r} is not a name for a column", hint='give the new name, such as "price"'
        )
    return name
