"""Views and functions of Spark Connect: the server keeps their text, and reads their tables.

It finds them by the columns that its catalog has of them (`spark.located_schema`), so those are
brought up to date first. Python workers read the rows, of the newest version each time.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession

from lakebed.errors import SqlError
from lakebed.log.table_log import TableLog
from lakebed.spark.catalog_entry import NewEntry, TableEntry
from lakebed.spark.located_schema import same_columns
from lakebed.spark.location import open_location
from lakebed.spark.session_catalog import (
    catalog_of,
    create_entry,
    find,
    not_told,
    refresh_entry,
    resolve,
)
from lakebed.spark.sql_text import literal, quoted, quoted_parts
from lakebed.spec.column_mapping import strip
from lakebed.spec.schema import schema_to_json
from lakebed.sql.cursor import Cursor
from lakebed.sql.delta_reads import TIMESTAMP, VERSION
from lakebed.sql.moments import moment
from lakebed.sql.plain import plain_sql
from lakebed.sql.remembered_views import remembered_view
from lakebed.sql.table_positions import TablePosition, table_positions, without_version


def is_definition(text: str) -> bool:
    """CREATE VIEW and CREATE FUNCTION of all kinds; ALTER VIEW ... AS."""
    cursor = Cursor(text)
    if cursor.accept("CREATE"):
        cursor.accept("OR", "REPLACE")
        cursor.accept("GLOBAL")
        cursor.accept_any("TEMP", "TEMPORARY")
        return cursor.at_any("VIEW", "FUNCTION")
    return cursor.at("ALTER", "VIEW")


def run_definition(session: SparkSession, text: str) -> DataFrame | None:
    """None if there is no Delta table in it, and nothing is done."""
    tables = [found for each in table_positions(text) if (found := _table(session, text, each))]
    if not tables:
        return None
    for table in tables:
        table.check(session, text)
    tables = [table.named(session) for table in tables]
    parts, last = [], 0
    for table in tables:
        parts += [text[last : table.place.start], table.sql(session)]
        last = table.place.end
    return plain_sql(session, "".join([*parts, text[last:]]))


@dataclass(frozen=True)
class _Table:
    """`version` and `timestamp` are those behind an @."""

    place: TablePosition
    entry: TableEntry
    version: str | None
    timestamp: str | None

    def check(self, session: SparkSession, text: str) -> None:
        chosen = self._chosen(session)
        if not chosen:
            return
        log = TableLog(open_location(session, self.entry.location or "", {})[0])
        version = chosen.get(VERSION)
        then = log.snapshot(None if version is None else int(version), chosen.get(TIMESTAMP))
        if not same_columns(then.schema, log.snapshot().schema):
            raise _refused(
                text,
                self.place,
                f"version {then.version} of {self.entry.name} had other columns than it has now",
                "make a table of that version with CLONE, or the view in a classic session",
            )

    def named(self, session: SparkSession) -> _Table:
        """Known to the catalog of the server as it is now."""
        if self.entry.is_path:
            return replace(self, entry=_name_of(session, self.entry.location or ""))
        if not refresh_entry(session, self.entry):
            raise not_told(self.entry)
        return self

    def sql(self, session: SparkSession) -> str:
        options = {**self.place.options, **self._chosen(session)}
        if not options:
            return quoted_parts(self.entry.parts) + self._alias()
        given = ", ".join(f"{literal(key)} = {literal(value)}" for key, value in options.items())
        return f"{quoted_parts(self.entry.parts)} WITH ({given}){self._alias()}"

    def _alias(self) -> str:
        return "" if self.place.has_alias else f" AS {quoted(self.entry.parts[-1])}"

    def _chosen(self, session: SparkSession) -> dict[str, str]:
        """The version under names that mean nothing to Spark, which refuses its own here."""
        place = self.place
        version = place.version or self.version
        if version is not None:
            return {VERSION: version}
        if place.timestamp is not None:
            return {TIMESTAMP: moment(session, place.timestamp)}
        return {} if self.timestamp is None else {TIMESTAMP: self.timestamp}


def _table(session: SparkSession, text: str, place: TablePosition) -> _Table | None:
    """None for what is no Delta table: views too, which the server follows."""
    if place.arguments is not None:
        raise _refused(
            text,
            place,
            "a view or function cannot read the changes of a table here",
            "make it in a classic session",
        )
    parts, version, timestamp = without_version(place.parts)
    entry = find(session, place.parts)
    if entry is None and parts != place.parts:
        entry = find(session, parts)
    else:
        version = timestamp = None
    if entry is None:
        return None
    if entry.is_temporary and remembered_view(session, entry.parts[-1], entry.created) is not None:
        raise _refused(
            text,
            place,
            f"{entry.name} is a temporary view, which the server has as it was made",
            "name the tables themselves",
        )
    if not entry.is_delta:
        return None
    return _Table(place, entry, version, None if version else timestamp)


def _name_of(session: SparkSession, path: str) -> TableEntry:
    """A name for a path, in the current database: the server reads tables with names alone."""
    store, root = open_location(session, path, {})
    schema = TableLog(store).snapshot().schema
    digest = hashlib.blake2b(store.url.encode(), digest_size=6).hexdigest()
    parts = (catalog_of(session).current_database(), f"delta_path_{digest}")
    found = find(session, parts)
    if found is None:
        comment = f"{path}, for views and functions"
        entry = NewEntry(*parts, root, False, schema_to_json(strip(schema)), comment=comment)
        create_entry(session, entry)
        found = resolve(session, parts)
    elif not refresh_entry(session, found):
        raise not_told(found)
    return found


def _refused(text: str, place: TablePosition, message: str, hint: str) -> SqlError:
    return SqlError(message, sql=text, position=place.start, hint=hint)
