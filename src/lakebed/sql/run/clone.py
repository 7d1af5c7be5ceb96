"""CREATE TABLE ... CLONE."""

from __future__ import annotations

import re

import pyarrow as pa
from pyspark.sql import DataFrame

from lakebed.catalog.entry import TableEntry
from lakebed.commands.clone.clone_table import CloneOptions, clone_table
from lakebed.commands.convert.convert_folder import ConvertOptions, folder_as_table
from lakebed.commands.convert.parquet_folder import find_files
from lakebed.commands.create.create_modes import OR_REPLACE, REPLACE, is_there
from lakebed.commands.create.named_tables import create_named, place_for
from lakebed.errors import SqlError
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.settings.setting_table import COLLECT_STATS, DEFAULT_PROPERTIES, USER_METADATA
from lakebed.spark.catalog.session_catalog import find, resolve
from lakebed.spark.session.session_settings import all_settings
from lakebed.spark.stores.location import open_location
from lakebed.spec.schema import StructType, parse_schema
from lakebed.sql.context import SqlContext
from lakebed.sql.grammar.new_tables import CloneTable
from lakebed.sql.statement import AsOf
from lakebed.storage.store import Store

_METRICS = (
    *("sourceTableSize", "sourceNumOfFiles", "numRemovedFiles"),
    *("numCopiedFiles", "removedFilesSize", "copiedFilesSize"),
)


def run_clone(context: SqlContext, statement: CloneTable) -> DataFrame:
    """One row with what was done, under the names of delta-spark."""
    place = place_for(context.session, statement.table.parts, statement.location)
    parquet = _parquet_source(context, statement)
    entry = parquet or resolve(context.session, statement.source.parts)
    if is_there(place, statement.mode):
        return _frame(context, {})
    store, root = open_location(context.session, entry.location or "", {})
    source = (
        _version(context, TableLog(store), statement.as_of)
        if parquet is None
        else _converted(context, parquet, store)
    )
    # Hadoop knows s3a where the store says s3.
    scheme, rest = root.partition("://")[0], store.url.partition("://")[2]
    options = CloneOptions(
        shallow=statement.is_shallow,
        replace=statement.mode in (REPLACE, OR_REPLACE),
        properties=statement.properties,
        root=f"{scheme}://{rest}",
        source_name=None if entry.is_path else entry.full_name,
        user_metadata=USER_METADATA.of(context.session),
    )
    metrics: dict[str, int] = {}

    def make() -> Snapshot:
        done = clone_table(source, place.log, options)
        metrics.update(done.metrics)
        return done.snapshot

    create_named(place, make)
    return _frame(context, metrics)


def _parquet_source(context: SqlContext, statement: CloneTable) -> TableEntry | None:
    """A folder of Parquet files, parquet.`/data/orders`, or a table of them."""
    parts = statement.source.parts
    entry = find(context.session, parts)
    if entry is None and len(parts) == 2 and parts[0].lower() == "parquet":
        entry = TableEntry(parts, "PATH", "parquet", parts[1])
    if entry is None or entry.provider != "parquet":
        return None
    if statement.as_of is not None:
        raise SqlError(
            "Parquet files have no versions",
            sql=context.sql,
            position=statement.source.position,
            hint="leave out VERSION AS OF and TIMESTAMP AS OF",
        )
    return entry


def _converted(context: SqlContext, source: TableEntry, store: Store) -> Snapshot:
    """The folder as a table, with the partition columns that Spark finds in it."""
    session = context.session
    settings = all_settings(session)
    if source.is_path:
        known = session.read.parquet(source.location or "").schema
    else:
        known = session.table(".".join(source.parts)).schema
    schema = parse_schema(known.json())
    names = [name for name, _ in next(iter(find_files(store))).values]
    options = ConvertOptions(
        StructType(tuple(schema.field(name) for name in names)) if names else None,
        stats=COLLECT_STATS.read(settings),
        default_properties=DEFAULT_PROPERTIES.read(settings),
    )
    return folder_as_table(store, options)


def _version(context: SqlContext, log: TableLog, as_of: AsOf | None) -> Snapshot:
    if as_of is None:
        return log.snapshot()
    if as_of.version is not None:
        return log.at_version(as_of.version)
    assert as_of.timestamp is not None
    query = f"SELECT unix_millis(CAST(({as_of.timestamp}) AS TIMESTAMP))"
    found = context.query(query, as_of.timestamp).head()
    if found is None or found[0] is None:
        raise SqlError("this is not a time", sql=context.sql, position=as_of.timestamp.position)
    return log.snapshot(timestamp=int(found[0]))


def _frame(context: SqlContext, metrics: dict[str, int]) -> DataFrame:
    names = [re.sub(r"[A-Z]", lambda letter: f"_{letter[0].lower()}", name) for name in _METRICS]
    values = [[metrics[name]] if metrics else [] for name in _METRICS]
    arrays = [pa.array(each, pa.int64()) for each in values]
    return context.frame(pa.table(arrays, names=names))
