"""Tables that get a name: where they are to be, and in which order table and name come.

First the table, then the name: a process that dies in between leaves a table without a name, and
the same statement again, or one with LOCATION, gives it the name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from pyspark.sql import SparkSession

from lakebed.catalog.entry import NewEntry, TableEntry
from lakebed.errors import InvalidArgumentError, TableExistsError
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.spark.catalog.session_catalog import (
    catalog_of,
    create_entry,
    managed_location,
    name_taken,
    new_place,
    path_entry,
)
from lakebed.spark.session.session_kind import is_connect
from lakebed.spark.stores.location import open_location
from lakebed.spec.columns.column_mapping import strip
from lakebed.spec.schema import StructType, schema_to_json

_ABSOLUTE = re.compile(r"/|[A-Za-z][A-Za-z0-9+.\-]+:/")


@dataclass(frozen=True)
class Place:
    """Where a table is to be. `database` None: it gets no name. `entry`: what has the name now."""

    session: SparkSession
    location: str
    log: TableLog
    database: str | None = None
    name: str | None = None
    is_managed: bool = False
    entry: TableEntry | None = None

    @property
    def is_new_name(self) -> bool:
        return self.database is not None and self.entry is None

    @property
    def shown(self) -> str:
        return self.location if self.database is None else f"{self.database}.{self.name}"

    @property
    def is_foreign(self) -> bool:
        """Whether the name belongs to a view or a table of another format."""
        return self.entry is not None and not self.entry.is_delta

    def has_table(self) -> bool:
        return not self.is_foreign and self.log.exists()


def place_for(session: SparkSession, parts: tuple[str, ...], location: str | None = None) -> Place:
    """Where a name, or a path such as delta.`/data`, says that a table is to be."""
    as_path = path_entry(parts)
    if as_path is not None and not _is_database(session, parts[0]):
        if location is not None:
            raise InvalidArgumentError(
                f"{parts[1]} is a path already, and LOCATION gives another",
                hint="leave out one of them",
                condition="DELTA_CREATE_TABLE_IDENTIFIER_LOCATION_MISMATCH",
            )
        return place_at(session, parts[1])
    database, name = new_place(session, parts)
    entry = catalog_of(session).find(database, name)
    if location is not None:
        location = _absolute(session, database, location)
    if entry is not None and entry.is_delta:
        return _known(session, entry, location)
    chosen = location or managed_location(session, database, name)
    log = _log(session, chosen)
    return Place(session, chosen, log, database, name, location is None, entry)


def _is_database(session: SparkSession, name: str) -> bool:
    """Names are not looked up on Spark Connect, where paths alone are known."""
    return not is_connect(session) and catalog_of(session).has_database(name)


def place_at(session: SparkSession, location: str) -> Place:
    """A place without a name."""
    return Place(session, location, _log(session, location))


def create_named(place: Place, make: Callable[[], Snapshot]) -> Snapshot:
    """What `make` makes, with the name of the place. If it fails there is no such name."""
    if not place.is_new_name:
        return make()
    table = make()
    _add_name(place, table)
    return table


def _add_name(place: Place, table: Snapshot) -> None:
    metadata = table.metadata
    entry = _new_entry(place, table.schema, metadata.partition_columns)
    try:
        create_entry(place.session, replace(entry, comment=metadata.description))
    except TableExistsError as error:
        # Two that replace a table at once both give it the name.
        there = catalog_of(place.session).find(entry.database, entry.name)
        if there is None or not there.is_delta or there.location is None:
            raise
        if _url(place.session, there.location) != place.log.store.url or table.version == 0:
            raise TableExistsError(
                f"somebody else has made {place.shown} meanwhile",
                hint=f"what this statement made is at {place.location}, without a name"
                if there.location != place.location
                else "look at the table that is there now",
            ) from error


def _new_entry(place: Place, schema: StructType, partition_by: tuple[str, ...]) -> NewEntry:
    assert place.database is not None
    assert place.name is not None
    return NewEntry(
        place.database,
        place.name,
        place.location,
        place.is_managed,
        schema_to_json(strip(schema)),
        partition_by,
    )


def _known(session: SparkSession, entry: TableEntry, location: str | None) -> Place:
    assert entry.location is not None
    log = _log(session, entry.location)
    if location is not None and _url(session, location) != log.store.url:
        raise InvalidArgumentError(
            f"{entry.name} is at {entry.location}, not at {location}",
            hint="leave LOCATION out, or drop the name first",
            condition="DELTA_TABLE_LOCATION_MISMATCH",
        )
    database, name = entry.parts
    return Place(session, entry.location, log, database, name, entry.is_managed, entry)


def refuse_foreign(place: Place) -> None:
    """A view, or a table of another format, is not replaced and not written to."""
    if place.entry is None or not place.is_foreign:
        return
    what = "a view" if place.entry.is_view else f"a table of {place.entry.provider}"
    raise TableExistsError(
        f"{place.shown} is {what}, not a Delta table", hint="drop it first, or choose another name"
    )


def refuse_taken(place: Place) -> None:
    """For statements that make a table and replace none."""
    refuse_foreign(place)
    if place.has_table() and place.entry is not None:
        raise name_taken(place.shown)
    if place.has_table() and place.database is None:
        raise TableExistsError(
            f"the Delta table {place.location} already exists",
            hint="say IF NOT EXISTS or OR REPLACE, or choose another place",
        )


def _absolute(session: SparkSession, database: str, location: str) -> str:
    """As in Spark, what is not absolute is in the folder of the database."""
    if not location:
        raise InvalidArgumentError("LOCATION is empty", hint="give a folder or a URL")
    if _ABSOLUTE.match(location):
        return location
    return f"{catalog_of(session).database_location(database).rstrip('/')}/{location}"


def _log(session: SparkSession, location: str) -> TableLog:
    return TableLog(open_location(session, location, {})[0])


def _url(session: SparkSession, location: str) -> str:
    return open_location(session, location, {})[0].url
