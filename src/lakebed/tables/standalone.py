"""`lakebed.open`, `write`, `create` and `convert`: tables without Spark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lakebed.commands.alter.columns.add_columns import NewColumns
from lakebed.commands.alter.columns.column_types import to_field, to_type, typed_field
from lakebed.commands.convert.convert_folder import ConvertOptions, PartitionSchema, convert_folder
from lakebed.commands.convert.convert_folder import partition_schema as parsed_partition_schema
from lakebed.commands.create.create_table import MODES, Mode, TableDefinition, create_table
from lakebed.commands.target.clustering_columns import to_paths
from lakebed.commands.target.metadata_change import AlterTarget
from lakebed.commands.target.write_options import WriteKeywords, WriteOptions
from lakebed.commands.write.write_rows import write_table
from lakebed.errors import InvalidArgumentError
from lakebed.log.table_log import TableLog
from lakebed.spec.columns.column_mapping import strip
from lakebed.spec.schema import StructField, StructType
from lakebed.storage import open_store
from lakebed.storage.file_references import EXTERNAL_PATHS, UNTRUSTED
from lakebed.tables.table import Location, StorageOptions, Table, rows_of

if TYPE_CHECKING:
    from typing_extensions import Unpack


def open_table(
    path: Location,
    version: int | None = None,
    timestamp: str | datetime | int | None = None,
    storage_options: StorageOptions | None = None,
    *,
    untrusted: bool = False,
    external_paths: str | Sequence[str] | None = None,
) -> Table:
    """Open a Delta table: its newest version, or the one of a version number or a time.

    `path` is a folder or a URL (s3://, gs://, abfss://, file://, memory://). A time without a
    zone is UTC; a number is milliseconds since 1970. An `untrusted` table can have no file outside
    of its folder. `external_paths` names other buckets that it can have files in, or is "allow".
    """
    if isinstance(timestamp, bool) or not isinstance(timestamp, str | datetime | int | None):
        raise InvalidArgumentError(
            f"timestamp={timestamp!r} is not a time",
            hint="give a datetime, or a text such as 2026-01-31 12:00:00",
        )
    limits: dict[str, Any] = {UNTRUSTED: True} if untrusted else {}
    if external_paths is not None:
        limits[EXTERNAL_PATHS] = external_paths
    log = TableLog(open_store(path, {**(storage_options or {}), **limits}))
    return Table(log, log.snapshot(version, timestamp))


def write(
    path: Location,
    data: Any,
    *,
    storage_options: StorageOptions | None = None,
    **options: Unpack[WriteKeywords],
) -> Table:
    """Create a table, append to it or overwrite it with Arrow data; the table after the write.

    Options: mode ("append", "overwrite", "error", "ignore"), partition_by, cluster_by (of a new
    table: the columns by which OPTIMIZE arranges it), merge_schema, overwrite_schema, properties,
    name, description, user_metadata, txn=(app_id, version) for idempotent writes,
    max_rows_per_file, replace_where (a SQL predicate: an overwrite replaces only rows for which it
    is true), partition_overwrite="dynamic" (only partitions with new rows).
    """
    log = TableLog(open_store(path, storage_options))
    chosen = WriteOptions.of(options)
    return Table(log, write_table(log, rows_of(data, log, chosen), chosen))


def convert(
    path: Location,
    partition_schema: PartitionSchema | None = None,
    *,
    stats: bool = True,
    properties: Mapping[str, str] | None = None,
    storage_options: StorageOptions | None = None,
) -> Table:
    """Turn a folder of Parquet files into a Delta table, where it is; the table.

    The files stay as they are. Folders such as `day=2026-01-31` need `partition_schema`: a text
    like "day DATE", or a schema. A folder that is a Delta table already is left alone.
    """
    log = TableLog(open_store(path, storage_options))
    options = ConvertOptions(parsed_partition_schema(partition_schema), stats, properties or {})
    return Table(log, convert_folder(log, options))


def is_delta_table(path: Location, storage_options: StorageOptions | None = None) -> bool:
    """Whether there is a Delta table, without reading more of it than needed to tell."""
    return TableLog(open_store(path, storage_options)).exists()


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
