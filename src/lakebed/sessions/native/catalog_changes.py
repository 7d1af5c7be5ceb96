"""Names of tables and schemas: DROP, RENAME, SET LOCATION, CREATE and DROP SCHEMA."""

from __future__ import annotations

from pyspark.sql import SparkSession

from lakebed.catalog.entry import NewEntry, TableEntry
from lakebed.commands.create.dropped_tables import drop_table
from lakebed.errors import InvalidArgumentError, SchemaMismatchError
from lakebed.log.table_log import TableLog
from lakebed.sessions.native.question import Question
from lakebed.spark.catalog.mirrored_catalog import MirroredCatalog
from lakebed.spark.catalog.session_catalog import catalog_of, find, move_entry, rename_entry
from lakebed.spark.stores.location import open_location
from lakebed.spec.columns.column_mapping import strip
from lakebed.spec.schema import schema_to_json


def drop(asked: Question) -> bool:
    """False if there is no such table any more."""
    entry = find(asked.session, tuple(asked.request["parts"]))
    if entry is None or not entry.is_delta:
        return False
    if entry.is_path:
        raise InvalidArgumentError(
            f"{entry.location} is a path: it has no name that could be dropped",
            hint="delete the rows by DELETE FROM, or delete the folder",
        )
    return drop_table(asked.session, entry, purge=bool(asked.request["purge"]))


def rename(asked: Question) -> None:
    entry = find(asked.session, tuple(asked.request["parts"]))
    assert entry is not None
    rename_entry(asked.session, entry, tuple(asked.request["new"]))


def create_schema(asked: Question) -> bool:
    """In an embedded catalog; False if it has the schema already, which Spark says then."""
    catalog, parts = catalog_of(asked.session), asked.request["parts"]
    if len(parts) != 1 or not isinstance(catalog, MirroredCatalog):
        return False
    given = asked.request["metadata"]
    return catalog.create_namespace(
        parts[0], given.get("location"), given.get("comment"), if_not_exists=False
    )


def drop_schema(asked: Question) -> bool:
    """True if it is dropped. Else Spark drops it, with its folder and all that is in there."""
    parts, cascade = asked.request["parts"], bool(asked.request["cascade"])
    catalog = catalog_of(asked.session)
    if len(parts) != 1:
        return False
    if isinstance(catalog, MirroredCatalog):
        is_default = parts[0].lower() == "default"
        return not is_default and catalog.drop_namespace(parts[0], cascade=cascade)
    if cascade and catalog.has_database(parts[0]):
        _spare_external_tables(asked.session, parts[0])
    return False


def _spare_external_tables(session: SparkSession, database: str) -> None:
    catalog = catalog_of(session)
    folder = _normalized(catalog.database_location(database))
    for name in catalog.tables(database):
        entry = catalog.find(database, name)
        if entry is None or not entry.is_delta or entry.is_managed:
            continue
        if _normalized(entry.location or "").startswith(folder):
            raise InvalidArgumentError(
                f"{entry.name} is an external table inside of the folder of {database}, which "
                "DROP SCHEMA deletes",
                hint=f"DROP TABLE {entry.name} and move its folder {entry.location} first",
            )


def set_location(session: SparkSession, entry: TableEntry, location: str) -> None:
    """The name leads to another table, which has the same columns.

    A managed table becomes an external one: DROP TABLE must not delete files that were there
    before the name.
    """
    if entry.is_path:
        raise InvalidArgumentError(
            f"{entry.name} is a path: its location cannot change",
            hint="CREATE TABLE ... LOCATION gives a name to a table that is there",
        )
    store, root = open_location(session, location, {})
    new = TableLog(store).snapshot()
    store, _ = open_location(session, entry.location or "", {})
    if strip(new.schema) != strip(TableLog(store).snapshot().schema):
        raise SchemaMismatchError(
            f"the table at {location} has other columns than {entry.name}",
            hint="drop the name, and create it again with this location",
            condition="DELTA_SET_LOCATION_SCHEMA_MISMATCH",
        )
    schema = schema_to_json(strip(new.schema))
    partitions = new.metadata.partition_columns
    database, name = entry.parts
    move_entry(
        session,
        NewEntry(database, name, root, False, schema, partitions, entry.comment, entry.owner),
    )


def _normalized(location: str) -> str:
    """The path with one slash at its start and its end."""
    scheme, _, rest = location.rpartition(":")
    return f"{scheme}:/{rest.strip('/')}/"
