"""What `spark.catalog` says about Delta tables.

Spark sees tables of a Python data source, of which it knows neither whether they are external nor
what their columns are by now. So the kind comes from the catalog, and the columns from the log.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.catalog import Column, Table

from lakebed.commands.alter.clustering_columns import clustering_columns
from lakebed.errors import TableNotFoundError, UnsupportedFeatureError
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.spark.catalog_entry import SESSION_CATALOG, TableEntry
from lakebed.spark.enabled import is_enabled
from lakebed.spark.functions import is_connect
from lakebed.spark.location import open_location
from lakebed.spark.mirrored_catalog import catalog_url
from lakebed.spark.projection import spark_type
from lakebed.spark.session_catalog import catalog_of, find, not_told, refresh_entry
from lakebed.spark.sql_text import literal, quoted, quoted_parts
from lakebed.spark.table_names import is_name, parts_in
from lakebed.spec.column_metadata import comment
from lakebed.sql.query import delta_table

Answer = Callable[..., Any]
"""A method of `Catalog`; its first argument calls Spark's own, the second is the session."""


def answers() -> Mapping[str, Answer]:
    """By the names of the methods that they stand for. Some are new in Spark 4.3."""
    return {
        "getTable": _get_table,
        "listTables": _list_tables,
        "listColumns": _list_columns,
        "tableExists": _table_exists,
        "dropTable": _drop_table,
        "truncateTable": _truncate_table,
        "refreshTable": _refresh_table,
        "getTableProperties": _get_table_properties,
        "getCreateTableString": _get_create_table_string,
        "createDatabase": _create_database,
        "dropDatabase": _drop_database,
    }


def _get_table(plain: Answer, session: SparkSession, tableName: str) -> Table:
    entry = _delta(session, tableName)
    return plain(tableName) if entry is None else _table(session, entry)


def _list_tables(
    plain: Answer, session: SparkSession, dbName: str | None = None, pattern: str | None = None
) -> list[Table]:
    listed: list[Table] = plain(dbName, pattern)
    return [_with_kind(session, each) for each in listed] if is_enabled(session) else listed


def _list_columns(
    plain: Answer, session: SparkSession, tableName: str, dbName: str | None = None
) -> list[Column]:
    entry = _delta(session, tableName, dbName)
    return plain(tableName, dbName) if entry is None else _columns(_opened(session, entry))


def _table_exists(
    plain: Answer, session: SparkSession, tableName: str, dbName: str | None = None
) -> bool:
    """A path exists if there is a Delta table; what has a name is for Spark to say."""
    entry = None if dbName is not None else _delta(session, tableName)
    if entry is None or not entry.is_path:
        return bool(plain(tableName, dbName))
    store, _ = open_location(session, entry.location or "", {})
    return TableLog(store).exists()


def _drop_table(
    plain: Answer,
    session: SparkSession,
    tableName: str,
    ifExists: bool = False,
    purge: bool = False,
) -> None:
    entry = _delta(session, tableName)
    if entry is None:
        return plain(tableName, ifExists, purge)
    maybe, end = " IF EXISTS" if ifExists else "", " PURGE" if purge else ""
    session.sql(f"DROP TABLE{maybe} {quoted_parts(entry.parts)}{end}")
    return None


def _truncate_table(plain: Answer, session: SparkSession, tableName: str) -> None:
    entry = _delta(session, tableName)
    if entry is None:
        return plain(tableName)
    session.sql(f"TRUNCATE TABLE {quoted_parts(entry.parts)}")
    return None


def _refresh_table(plain: Answer, session: SparkSession, tableName: str) -> None:
    """Every statement opens the newest version of a Delta table. Only the server of Spark Connect
    is told of its columns, for views and functions.
    """
    entry = _delta(session, tableName)
    if entry is not None:
        if not refresh_entry(session, entry):
            raise not_told(entry)
        return None
    if _reads_delta(session, tableName):
        raise UnsupportedFeatureError(
            f"{tableName} reads Delta tables, which Spark cannot refresh",
            hint="Delta tables need no refreshing; refresh the others by their own names",
        )
    return plain(tableName)


def _reads_delta(session: SparkSession, name: str) -> bool:
    """Whether a view does, in sessions whose plans are at hand."""
    if is_connect(session) or not is_enabled(session) or not is_name(name):
        return False
    return delta_table(session, name, {}) is not None


def _get_table_properties(plain: Answer, session: SparkSession, tableName: str) -> dict[str, str]:
    entry = _delta(session, tableName)
    if entry is None:
        return dict(plain(tableName))
    rows = session.sql(f"SHOW TBLPROPERTIES {quoted_parts(entry.parts)}").collect()
    return {row["key"]: row["value"] for row in rows}


def _get_create_table_string(
    plain: Answer, session: SparkSession, tableName: str, asSerde: bool = False
) -> str:
    entry = _delta(session, tableName)
    if entry is None or asSerde:
        return str(plain(tableName, asSerde))
    rows = session.sql(f"SHOW CREATE TABLE {quoted_parts(entry.parts)}").collect()
    return str(rows[0][0])


def _create_database(
    plain: Answer,
    session: SparkSession,
    dbName: str,
    ifNotExists: bool = False,
    properties: Mapping[str, str] | None = None,
) -> None:
    """An embedded catalog is told too."""
    if not is_enabled(session) or catalog_url(session) is None:
        return plain(dbName, ifNotExists, properties)
    given = {key.lower(): value for key, value in (properties or {}).items()}
    text = f"CREATE SCHEMA{' IF NOT EXISTS' if ifNotExists else ''} {quoted(dbName)}"
    for key in ("comment", "location"):
        text += f" {key} {literal(given[key])}" if key in given else ""
    session.sql(text)
    return None


def _drop_database(
    plain: Answer,
    session: SparkSession,
    dbName: str,
    ifExists: bool = False,
    cascade: bool = False,
) -> None:
    """By SQL, which spares the files of external tables."""
    if not is_enabled(session):
        return plain(dbName, ifExists, cascade)
    parts = quoted_parts(parts_in(dbName))
    maybe, end = " IF EXISTS" if ifExists else "", " CASCADE" if cascade else ""
    session.sql(f"DROP SCHEMA{maybe} {parts}{end}")
    return None


def _delta(session: SparkSession, name: str, database: str | None = None) -> TableEntry | None:
    """None for all that Spark itself is to answer."""
    if not is_enabled(session) or not isinstance(name, str) or not is_name(name):
        return None
    if database is not None and not is_name(database):
        return None
    parts = parts_in(name) if database is None else (*parts_in(database), name)
    found = find(session, parts)
    return found if found is not None and found.is_delta else None


def _opened(session: SparkSession, entry: TableEntry) -> Snapshot:
    store, _ = open_location(session, entry.location or "", {})
    return TableLog(store).snapshot()


def _table(session: SparkSession, entry: TableEntry) -> Table:
    try:
        description = _opened(session, entry).metadata.description
    except TableNotFoundError:
        # The name is there, whatever became of the files.
        description = entry.comment
    name, kind = entry.parts[-1], "EXTERNAL" if entry.is_path else entry.kind
    return Table(name, SESSION_CATALOG, list(entry.parts[:-1]), description, kind, False)


def _with_kind(session: SparkSession, table: Table) -> Table:
    if table.isTemporary or table.catalog != SESSION_CATALOG or table.database is None:
        return table
    entry = catalog_of(session).find(table.database, table.name)
    if entry is None or not entry.is_delta:
        return table
    return table._replace(tableType=entry.kind, description=entry.comment)


def _columns(snapshot: Snapshot) -> list[Column]:
    clustered: Sequence[Sequence[str]] = clustering_columns(snapshot) or ()
    firsts = {path[0] for path in clustered if len(path) == 1}
    return [
        Column(
            field.name,
            comment(field),
            spark_type(field.data_type).simpleString(),
            field.nullable,
            field.name in snapshot.partition_columns,
            False,
            field.name in firsts,
        )
        for field in snapshot.schema.fields
    ]
