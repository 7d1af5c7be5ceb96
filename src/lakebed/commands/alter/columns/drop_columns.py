"""DROP COLUMNS: the files keep the data, which is no longer read (PROTOCOL: Column Mapping)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lakebed.commands.alter.columns.dependents import check_nothing_depends, dropped_from_settings
from lakebed.commands.alter.columns.rename_column import check_mapped
from lakebed.commands.target.clustering_columns import clustering_columns
from lakebed.commands.target.column_names import ColumnName, as_json, starts_with, to_path
from lakebed.commands.target.metadata_change import AlterTarget, Change, operation, schema_change
from lakebed.errors import InvalidArgumentError, SchemaError
from lakebed.log.snapshot import Snapshot
from lakebed.spec.columns.schema_edits import remove_field
from lakebed.spec.schema import Path, render_path, resolve


def drop_columns(target: AlterTarget, names: Sequence[ColumnName]) -> Snapshot:
    paths = [to_path(name) for name in names]
    if not paths:
        raise InvalidArgumentError("there are no columns to drop", hint="name at least one")
    return target.apply(lambda snapshot: plan_drop_columns(snapshot, paths))


def plan_drop_columns(snapshot: Snapshot, paths: Sequence[Path]) -> Change:
    schema = snapshot.schema
    found: list[Path] = []
    for asked in paths:
        check_mapped(snapshot, asked, "dropped")
        path, _ = resolve(schema, asked)
        _check_layout(snapshot, path)
        schema = remove_field(schema, path)
        found.append(path)
    configuration = check_dropped(snapshot, found)
    if set(schema.names) <= set(snapshot.partition_columns):
        raise SchemaError(
            "a table needs at least one column that is not a partition column",
            hint="add another column first",
            condition="DELTA_DROP_COLUMN_ON_SINGLE_FIELD_SCHEMA",
        )
    done = operation("DROP COLUMNS", columns=as_json([render_path(path) for path in found]))
    metadata = replace(snapshot.metadata, configuration=configuration)
    return schema_change(snapshot, schema, done, metadata)


def check_dropped(snapshot: Snapshot, paths: Sequence[Path]) -> dict[str, str]:
    """The configuration without the columns; an error if something else needs one of them."""
    configuration = dict(snapshot.metadata.configuration)
    for path in paths:
        _check_layout(snapshot, path)
        configuration = dropped_from_settings(configuration, path)
    for path in paths:
        _check_dependents(snapshot, path, paths)
    return configuration


def _check_layout(snapshot: Snapshot, path: Path) -> None:
    if len(path) == 1 and path[0] in snapshot.partition_columns:
        raise SchemaError(
            f"column {render_path(path)} cannot be dropped: the table is partitioned by it",
            hint="write the table anew with other partition columns (overwrite_schema)",
            condition="DELTA_UNSUPPORTED_DROP_PARTITION_COLUMN",
        )
    if any(starts_with(column, path) for column in clustering_columns(snapshot) or ()):
        raise SchemaError(
            f"column {render_path(path)} cannot be dropped: the table is clustered by it",
            hint="cluster the table by other columns first (cluster_by)",
            condition="DELTA_UNSUPPORTED_DROP_CLUSTERING_COLUMN",
        )


def _check_dependents(snapshot: Snapshot, path: Path, dropped: Sequence[Path]) -> None:
    """A generated column does not stand in the way of its sources if it goes with them."""
    kept = [field for field in snapshot.schema.fields if (field.name,) not in dropped]
    check_nothing_depends(snapshot, path, "dropped", among=kept)
