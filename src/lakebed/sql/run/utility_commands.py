"""Table utility commands: OPTIMIZE, VACUUM, DESCRIBE HISTORY and DETAIL, RESTORE, REORG, GENERATE,
FSCK REPAIR, CONVERT TO DELTA and UNDROP.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from lakebed.commands.convert.convert_folder import ConvertOptions, convert_folder, partition_schema
from lakebed.commands.create.dropped_tables import undrop_table
from lakebed.errors import SqlError
from lakebed.log.table_log import TableLog
from lakebed.settings.setting_table import COLLECT_STATS, DEFAULT_PROPERTIES, USER_METADATA
from lakebed.spark.catalog.session_catalog import find
from lakebed.spark.session.session_settings import all_settings
from lakebed.spark.stores.location import open_location
from lakebed.sql.column_errors import pointing_at
from lakebed.sql.column_lookup import column_path, renamed
from lakebed.sql.context import SqlContext
from lakebed.sql.grammar.utility_commands import (
    ConvertStatement,
    DescribeDetail,
    DescribeHistory,
    FsckStatement,
    GenerateStatement,
    OptimizeStatement,
    ReorgStatement,
    RestoreStatement,
    UndropTable,
    VacuumStatement,
)
from lakebed.sql.open_tables import NamedTable, open_table
from lakebed.sql.statement import Slice, Statement
from lakebed.tables.delta_table import DeltaTable


def run_optimize(context: SqlContext, statement: OptimizeStatement) -> DataFrame | None:
    found = _opened(context, statement)
    builder = found.delta().optimize()
    if statement.where is not None:
        values = context.values_in(statement.where)
        builder = builder._where(renamed(statement.where, found.names, None), values)
    with pointing_at(context, [statement.where]):
        if statement.full:
            return builder.executeFull()
        if not statement.zorder_by:
            return builder.executeCompaction()
        schema = found.snapshot.schema
        paths = [column_path(context, each, schema, found.names) for each in statement.zorder_by]
        return builder.executeZOrderBy(*[_quoted(path) for path in paths])


def run_vacuum(context: SqlContext, statement: VacuumStatement) -> DataFrame | None:
    """As in delta-spark: the files of a dry run, else the path of the table."""
    found = _opened(context, statement)
    inventory = None
    if statement.inventory is not None:
        inventory = context.query(f"SELECT * FROM {statement.inventory}", statement.inventory)
    frame = found.delta().vacuum(
        statement.retain_hours,
        dryRun=statement.dry_run,
        mode=statement.mode,
        inventory=inventory,
    )
    if statement.dry_run:
        return frame
    return context.session.createDataFrame([(found.root,)], "path STRING")


def run_restore(context: SqlContext, statement: RestoreStatement) -> DataFrame | None:
    table = _opened(context, statement).delta()
    if statement.as_of.timestamp is None:
        assert statement.as_of.version is not None
        return table.restoreToVersion(statement.as_of.version)
    return table.restoreToTimestamp(time_text(context, statement.as_of.timestamp))


def run_reorg(context: SqlContext, statement: ReorgStatement) -> DataFrame | None:
    found = _opened(context, statement)
    builder = found.delta().optimize()
    if statement.where is not None:
        values = context.values_in(statement.where)
        builder = builder._where(renamed(statement.where, found.names, None), values)
    if statement.iceberg is not None:
        return builder.executeUpgradeUniform(statement.iceberg)
    with pointing_at(context, [statement.where]):
        return builder.executePurge()


def run_generate(context: SqlContext, statement: GenerateStatement) -> DataFrame | None:
    _opened(context, statement).delta().generate(statement.mode)
    return context.empty()


def run_fsck(context: SqlContext, statement: FsckStatement) -> DataFrame | None:
    """The files that are not there, and whether it is the data or the vector that is gone."""
    return _opened(context, statement).delta().repair(statement.dry_run)


def run_convert(context: SqlContext, statement: ConvertStatement) -> DataFrame | None:
    session = context.session
    path = _parquet_path(context, statement)
    if path is None:
        # A name of the catalog, which changes with the table.
        columns = None if statement.partitions is None else statement.partitions.text
        DeltaTable.convertToDelta(session, str(statement.table), columns)
        return context.empty()
    settings = all_settings(session)
    store, _ = open_location(session, path, {})
    options = ConvertOptions(
        partition_schema(None if statement.partitions is None else statement.partitions.text),
        stats=statement.statistics and COLLECT_STATS.read(settings),
        default_properties=DEFAULT_PROPERTIES.read(settings),
        user_metadata=USER_METADATA.read(settings),
    )
    convert_folder(TableLog(store), options)
    return context.empty()


def run_undrop(context: SqlContext, statement: UndropTable) -> DataFrame:
    undrop_table(context.session, statement.table.parts)
    return context.empty()


def time_text(context: SqlContext, expression: Slice) -> str:
    """The time that an expression gives, as a text in the time zone of the session."""
    query = f"SELECT CAST(TRY_CAST(({expression}) AS TIMESTAMP) AS STRING)"
    with pointing_at(context, [expression]):
        row = context.query(query, expression).head()
    if row is None or row[0] is None:
        raise SqlError(
            "this is not a time",
            sql=context.sql,
            position=expression.position,
            hint="write it as '2026-01-31 12:00:00'",
        )
    return str(row[0])


def _parquet_path(context: SqlContext, statement: ConvertStatement) -> str | None:
    parts = statement.table.parts
    if len(parts) != 2 or "/" not in parts[1]:
        found = find(context.session, parts)
        is_folder = found is None and len(parts) == 2 and parts[0].lower() in ("parquet", "delta")
        return parts[1] if is_folder else None
    if parts[0].lower() not in ("parquet", "delta"):
        raise SqlError(
            f"{parts[0]} cannot be converted to Delta",
            sql=context.sql,
            position=statement.table.position,
            hint="Parquet files can: CONVERT TO DELTA parquet.`/data/orders`",
        )
    return parts[1]


def _opened(context: SqlContext, statement: Statement) -> NamedTable:
    found = open_table(context, statement)
    # Nobody else knows these statements: what is no Delta table is an error by now.
    assert found is not None
    return found


def _quoted(path: tuple[str, ...]) -> str:
    return ".".join("`" + part.replace("`", "``") + "`" for part in path)


def run_history(context: SqlContext, statement: DescribeHistory) -> DataFrame | None:
    found = open_table(context, statement)
    return None if found is None else found.delta().history(statement.limit)


def run_detail(context: SqlContext, statement: DescribeDetail) -> DataFrame | None:
    """With the whole name in the catalog, as in delta-spark."""
    found = open_table(context, statement)
    if found is None:
        return None
    entry = find(context.session, found.ref.parts)
    is_named = entry is not None and not entry.is_path
    return found.delta(name=entry.full_name if entry is not None and is_named else None).detail()
