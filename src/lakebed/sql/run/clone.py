"""CREATE TABLE ... CLONE."""

from __future__ import annotations

import re

import pyarrow as pa
from pyspark.sql import DataFrame

from lakebed.commands.clone.clone_table import CloneOptions, clone_table
from lakebed.commands.create.create_modes import OR_REPLACE, REPLACE, is_there
from lakebed.commands.create.named_tables import create_named, place_for
from lakebed.errors import SqlError
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.settings.setting_table import USER_METADATA
from lakebed.spark.catalog.session_catalog import resolve
from lakebed.spark.stores.location import open_location
from lakebed.sql.context import SqlContext
from lakebed.sql.grammar.new_tables import CloneTable
from lakebed.sql.statement import AsOf

_METRICS = (
    *("sourceTableSize", "sourceNumOfFiles", "numRemovedFiles"),
    *("numCopiedFiles", "removedFilesSize", "copiedFilesSize"),
)


def run_clone(context: SqlContext, statement: CloneTable) -> DataFrame:
    """One row with what was done, under the names of delta-spark."""
    place = place_for(context.session, statement.table.parts, statement.location)
    entry = resolve(context.session, statement.source.parts)
    if is_there(place, statement.mode):
        return _frame(context, {})
    store, root = open_location(context.session, entry.location or "", {})
    source = _version(context, TableLog(store), statement.as_of)
    # Hadoop knows s3a where the store says s3.
    scheme, rest = root.partition("://")[0], store.url.partition("://")[2]
    options = CloneOptions(
        shallow=statement.is_shallow,
        replace=statement.mode in (REPLACE, OR_REPLACE),
        properties=statement.properties,
        root=f"{scheme}://{rest}",
        user_metadata=USER_METADATA.of(context.session),
    )
    metrics: dict[str, int] = {}

    def make() -> Snapshot:
        done = clone_table(source, place.log, options)
        metrics.update(done.metrics)
        return done.snapshot

    create_named(place, make)
    return _frame(context, metrics)


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
