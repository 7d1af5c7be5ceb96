"""`lakebed.create`: a table without rows, without Spark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lakebed.commands.alter.columns.add_columns import NewColumns
from lakebed.commands.alter.columns.column_types import to_field, to_type, typed_field
from lakebed.commands.create.create_table import MODES, Mode, TableDefinition, create_table
from lakebed.commands.target.clustering_columns import to_paths
from lakebed.commands.target.metadata_change import AlterTarget
from lakebed.errors import InvalidArgumentError
from lakebed.log.table_log import TableLog
from lakebed.spec.columns.column_mapping import strip
from lakebed.spec.schema import StructField, StructType
from lakebed.storage import open_store
from lakebed.tables.table import Location, StorageOptions, Table


def create(
    path: Location,
    columns: NewColumns,
    *,
    mode: Mode = "create",
    partition_by: str | Sequence[str] | None = None,
    cluster_by: str | Sequence[str] | None = None,
    properties: Mapping[str, str] | None = None,
    name: str | None = None,
    comment: str | None = None,
    storage_options: StorageOptions | None = None,
) -> Table:
    """Create a table without rows, or put an empty one in the place of one that exists.

    `columns` maps names to types (`{"id": "bigint", "at": "timestamp"}`), or is a schema of Arrow
    or Spark. Modes are "create", "create_if_not_exists", "replace" and "create_or_replace"; a
    table that is replaced keeps its history.
    """
    if mode not in MODES:
        raise InvalidArgumentError(
            f"there is no mode {mode!r}", hint=f"modes are {', '.join(MODES)}"
        )
    if properties is not None and not isinstance(properties, Mapping):
        raise InvalidArgumentError(f"properties={properties!r} is not a mapping of names to texts")
    definition = TableDefinition(
        StructType(tuple(_fields(columns))),
        _names(partition_by),
        tuple(to_paths(cluster_by)),
        properties or {},
        name=name,
        comment=comment,
    )
    log = TableLog(open_store(path, storage_options))
    return Table(log, create_table(AlterTarget(log), definition, mode))


def _fields(columns: NewColumns) -> Iterable[StructField]:
    if isinstance(columns, Mapping):
        return [typed_field(str(name), to_type(kind)) for name, kind in columns.items()]
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        raise InvalidArgumentError(
            f"{columns!r} are not columns",
            hint='give a mapping such as {"id": "bigint"}, or a schema',
        )
    return strip(StructType(tuple(map(to_field, columns)))).fields


def _names(columns: Any) -> tuple[str, ...]:
    if columns is None:
        return ()
    names = (columns,) if isinstance(columns, str) else columns
    if not isinstance(names, Sequence) or not all(isinstance(each, str) for each in names):
        raise InvalidArgumentError(
            f"partition_by={columns!r} is not a list of column names",
            hint="give a column name, or a list of them",
        )
    return tuple(names)
