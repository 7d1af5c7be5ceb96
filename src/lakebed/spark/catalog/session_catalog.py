"""Names of tables: what Spark's own catalog, in memory or a Hive metastore, has under them.

Other catalogs than the session's own are not asked. A name may also be a path: delta.`/data`.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from pyspark.sql import SparkSession

from lakebed.catalog.entry import (
    DELTA,
    SESSION_CATALOG,
    NewEntry,
    TableEntry,
    TakenError,
)
from lakebed.catalog.object_names import check_name
from lakebed.errors import (
    InvalidArgumentError,
    TableExistsError,
    TableNotFoundError,
    UnsupportedFeatureError,
)
from lakebed.spark.catalog.mirrored_catalog import MirroredCatalog, catalog_url
from lakebed.spark.errors.server_errors import needs_server
from lakebed.spark.internals.jvm_catalog import JvmCatalog
from lakebed.spark.session.session_kind import is_connect


def find(session: SparkSession, parts: Sequence[str]) -> TableEntry | None:
    """What is under a name; None if there is nothing, or if it belongs to another catalog.

    A temporary view goes before a table. delta.`/data/orders` is a path, there or not, unless a
    database is called delta and has such a table.
    """
    place = _place(session, parts)
    if place is None:
        return None
    found = catalog_of(session).find(*place)
    return path_entry(parts) if found is None else found


def resolve(session: SparkSession, parts: Sequence[str]) -> TableEntry:
    """The Delta table of a name or path; an error that says what is there instead."""
    found = find(session, parts)
    if found is None:
        raise not_found(session, parts)
    if found.is_view:
        raise InvalidArgumentError(
            f"{found.name} is a view", hint="give the table that it is made of"
        )
    if found.provider != DELTA:
        raise InvalidArgumentError(
            f"{found.name} is a table of {found.provider or 'unknown format'}, not a Delta table",
            hint="convertToDelta makes Delta tables of Parquet files",
        )
    if found.location is None:
        raise InvalidArgumentError(
            f"the catalog does not say where {found.name} is", hint="open it by its path"
        )
    return found


def path_entry(parts: Sequence[str]) -> TableEntry | None:
    """delta.`/data/orders` as an entry; None if the name is another one."""
    if len(parts) != 2 or parts[0].lower() != DELTA or "/" not in parts[1]:
        return None
    return TableEntry(tuple(parts), "PATH", DELTA, parts[1])


def new_place(session: SparkSession, parts: Sequence[str]) -> tuple[str, str]:
    """The database and the name that a new table is to have; refuses what Spark would refuse."""
    place = _place(session, parts)
    if place is None:
        raise _other_catalog(session, parts)
    catalog = catalog_of(session)
    database, name = place[0] or catalog.current_database(), place[1]
    for each in (database, name):
        check_name(each)
    if not catalog.has_database(database):
        raise _no_database(database, ".".join(parts), catalog.databases())
    return database, name


def managed_location(session: SparkSession, database: str, name: str) -> str:
    """The folder of a table that is given none: in the folder of its database."""
    catalog = catalog_of(session)
    if isinstance(catalog, MirroredCatalog):
        return catalog.managed_location(database, name)
    return f"{catalog.database_location(database).rstrip('/')}/{name.lower()}"


def create_entry(session: SparkSession, entry: NewEntry) -> None:
    """Adds a name. An error if it is there, or came meanwhile: exactly one of two gets it."""
    try:
        catalog_of(session).create(entry)
    except TakenError as error:
        raise name_taken(f"{entry.database}.{entry.name}") from error


def drop_entry(session: SparkSession, entry: TableEntry) -> bool:
    """False if another session has dropped it.

    What is left of a managed table's folder is deleted.
    """
    database, name = entry.parts
    return catalog_of(session).drop(database, name)


def replace_entry(session: SparkSession, entry: NewEntry) -> None:
    """Makes a name of another format lead to a Delta table. No file is touched."""
    catalog_of(session).replace(entry)


def move_entry(session: SparkSession, entry: NewEntry) -> None:
    """Makes the name of an external table lead to another place. No file is touched."""
    catalog = catalog_of(session)
    if isinstance(catalog, JvmCatalog):
        catalog.replace(entry)
        return
    catalog.drop(entry.database, entry.name)
    create_entry(session, entry)


def rename_entry(session: SparkSession, entry: TableEntry, new_name: Sequence[str]) -> None:
    """Gives a table another name in the same database; the folder of a managed one moves."""
    database, name = new_place(session, (*entry.parts[:1], *new_name)[-2:])
    if database.lower() != entry.parts[0].lower():
        raise InvalidArgumentError(
            f"{entry.name} cannot move to the database {database}",
            hint="a new name is in the same database",
        )
    catalog = catalog_of(session)
    if catalog.find(database, name) is not None:
        raise name_taken(f"{database}.{name}")
    catalog.rename(database, entry.parts[1], name)


def catalog_of(session: SparkSession) -> JvmCatalog | MirroredCatalog:
    if is_connect(session):
        raise needs_server("the name of a Delta table")
    own = JvmCatalog(session)
    url = catalog_url(session)
    return own if url is None else MirroredCatalog(session, url, own)


def sync_names(session: SparkSession) -> None:
    """Lets Spark see what other processes have changed in an embedded catalog."""
    if catalog_url(session) is not None:
        catalog_of(session)


def name_taken(name: str) -> TableExistsError:
    return TableExistsError(
        f"the table or view {name} already exists",
        hint="choose another name, or say IF NOT EXISTS or OR REPLACE",
    )


def not_found(session: SparkSession, parts: Sequence[str]) -> TableNotFoundError:
    """With the names that are nearest."""
    place = _place(session, parts)
    if place is None:
        raise _other_catalog(session, parts)
    catalog = catalog_of(session)
    database, name = place[0] or catalog.current_database(), place[1]
    if not catalog.has_database(database):
        return _no_database(database, ".".join(parts), catalog.databases())
    known = catalog.tables(database)
    return TableNotFoundError(
        f"there is no table {name} in the database {database}", hint=_near(name, known)
    )


def _place(session: SparkSession, parts: Sequence[str]) -> tuple[str | None, str] | None:
    """The database, if one is given, and the name; None for tables of other catalogs."""
    catalog = parts[0] if len(parts) > 2 else catalog_of(session).current_catalog()
    if catalog.lower() != SESSION_CATALOG or len(parts) > 3:
        return None
    return (parts[-2] if len(parts) > 1 else None), parts[-1]


def _other_catalog(session: SparkSession, parts: Sequence[str]) -> UnsupportedFeatureError:
    catalog = parts[0] if len(parts) > 2 else catalog_of(session).current_catalog()
    return UnsupportedFeatureError(
        f"{'.'.join(parts)} is a table of the catalog {catalog}; Lakebed finds those of "
        f"{SESSION_CATALOG} alone",
        hint="open the table by its path, with forPath",
    )


def _no_database(database: str, name: str, known: Sequence[str]) -> TableNotFoundError:
    return TableNotFoundError(
        f"there is no database {database}, and so no table {name}", hint=_near(database, known)
    )


def _near(name: str, known: Sequence[str]) -> str:
    spelled = {each.lower(): each for each in known}
    near = [spelled[each] for each in get_close_matches(name.lower(), spelled, n=3)]
    return f"did you mean {' or '.join(near)}?" if near else "open it by its path, with forPath"
