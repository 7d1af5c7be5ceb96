"""The session catalog behind a session of Spark Connect, by SQL text: there is nothing else.

`DESCRIBE TABLE` has no location for tables of a Python data source; `SHOW TABLE EXTENDED` has it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from lakebed.errors import LakebedError
from lakebed.log.table_log import TableLog
from lakebed.spark.catalog_entry import NewEntry, TableEntry, TakenError
from lakebed.spark.column_changes import column_changes, keeps_location
from lakebed.spark.located_schema import located, location_of, same_columns
from lakebed.spark.location import open_location
from lakebed.spark.sql_text import column_list, literal, quoted
from lakebed.spark.types import visible_schema
from lakebed.spec.schema import (
    STRING,
    StructField,
    StructType,
    parse_schema,
    schema_to_json,
)

# No table of Spark's own catalog has other letters in its name; in a pattern they mean something.
_PLAIN = re.compile(r"[A-Za-z0-9_]+")

_UNREADABLE = StructType((StructField("unreadable", STRING),))
"""Columns of a name whose table cannot be opened: a server wants some."""


class ConnectCatalog:
    """The catalog of a server, as one of its sessions sees it."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session

    def current_catalog(self) -> str:
        return str(self._session.catalog.currentCatalog())

    def current_database(self) -> str:
        return str(self._session.catalog.currentDatabase())

    def has_database(self, database: str) -> bool:
        return bool(self._session.catalog.databaseExists(quoted(database)))

    def databases(self) -> list[str]:
        return [str(row[0]) for row in self._run("SHOW DATABASES")]

    def tables(self, database: str) -> list[str]:
        rows = self._run(f"SHOW TABLES IN {quoted(database)}")
        return [str(row["tableName"]) for row in rows if not row["isTemporary"]]

    def database_location(self, database: str) -> str:
        rows = self._run(f"DESCRIBE DATABASE {quoted(database)}")
        # A URI, unlike the location of a table.
        return unquote(next(str(row[1]) for row in rows if row[0] == "Location"))

    def find(self, database: str | None, name: str) -> TableEntry | None:
        if not _PLAIN.fullmatch(name) or not (database is None or self.has_database(database)):
            return None
        where = quoted(database or self.current_database())
        rows = self._run(f"SHOW TABLE EXTENDED IN {where} LIKE '{name}'")
        # Views of the session are listed with every database, but belong to none.
        mine = [row for row in rows if database is None or not row["isTemporary"]]
        for row in sorted(mine, key=lambda each: not each["isTemporary"]):
            if row["tableName"].lower() == name.lower():
                parts = tuple(filter(None, [row["namespace"], row["tableName"]]))
                return read_entry(parts, row["information"], row["isTemporary"])
        return None

    def create(self, entry: NewEntry) -> None:
        """Spark makes the folder of a managed table, and wants it to be empty."""
        # Late, because a classic application may not have what Spark Connect needs.
        from lakebed.spark.internals.connect import create_table

        name = f"{quoted(entry.database)}.{quoted(entry.name)}"
        schema = located(self._schema(entry), entry.location)
        place = None if entry.is_managed else entry.location
        try:
            create_table(self._session, name, schema.to_json(), place, entry.comment)
        except AnalysisException as error:
            if error.getCondition() != "TABLE_OR_VIEW_ALREADY_EXISTS":
                raise
            raise TakenError(name) from error

    def replace(self, entry: NewEntry) -> None:
        """Not for managed tables: the server would delete their files together with the name."""
        assert not entry.is_managed
        self.drop(entry.database, entry.name)
        self.create(entry)

    def drop(self, database: str, name: str) -> bool:
        try:
            self._run(f"DROP TABLE {quoted(database)}.{quoted(name)}")
        except AnalysisException as error:
            if error.getCondition() != "TABLE_OR_VIEW_NOT_FOUND":
                raise
            return False
        return True

    def rename(self, database: str, name: str, new_name: str) -> None:
        where = quoted(database)
        found = self.find(database, name)
        if found is not None and found.is_delta and found.is_managed:
            # The folder moves, and the next table of the old name would have its place.
            columns = column_list(schema_to_json(self._columns(database, name)))
            self._run(f"ALTER TABLE {where}.{quoted(name)} REPLACE COLUMNS ({columns})")
        self._run(f"ALTER TABLE {where}.{quoted(name)} RENAME TO {where}.{quoted(new_name)}")

    def refresh(self, entry: TableEntry) -> bool:
        """Tells the catalog the columns that the table has by now, and where it is.

        False if it cannot be told: of a managed table no entry can take the place of another,
        because its files would go with it.
        """
        assert entry.location is not None
        database, name = entry.parts
        store, _ = open_location(self._session, entry.location, {})
        table = TableLog(store).snapshot().schema
        known = self._columns(database, name)
        if same_columns(known, table) and location_of(known) is not None:
            return True
        if keeps_location(known, table):
            for change in column_changes(known, visible_schema(table)):
                self._run(f"ALTER TABLE {quoted(database)}.{quoted(name)} {change}")
            return True
        if entry.is_managed:
            return False
        schema = schema_to_json(table)
        self.drop(database, name)
        self.create(NewEntry(database, name, entry.location, False, schema, comment=entry.comment))
        return True

    def _schema(self, entry: NewEntry) -> StructType:
        if entry.schema is not None:
            return parse_schema(entry.schema)
        try:
            return TableLog(open_location(self._session, entry.location, {})[0]).snapshot().schema
        except LakebedError:
            # Whoever asks for this table is told what is wrong with it; all others are well.
            return _UNREADABLE

    def _columns(self, database: str, name: str) -> StructType:
        """Those of the entry, as the server has them."""
        from lakebed.spark.internals.connect import plain_sql

        query = f"SELECT * FROM {quoted(database)}.{quoted(name)}"
        return parse_schema(plain_sql(self._session, query).schema.json())

    def drop_database(self, database: str) -> None:
        self._run(f"DROP DATABASE {quoted(database)} CASCADE")

    def create_database(self, database: str, location: str, comment: str) -> None:
        self._run(
            f"CREATE DATABASE IF NOT EXISTS {quoted(database)} COMMENT {literal(comment)} "
            f"LOCATION {literal(location)}"
        )

    def _run(self, text: str) -> Sequence[Any]:
        # Late, because a classic application may not have what Spark Connect needs.
        from lakebed.spark.internals.connect import plain_sql

        rows: Sequence[Any] = plain_sql(self._session, text).collect()
        return rows


def read_entry(parts: tuple[str, ...], information: str, is_temporary: bool = False) -> TableEntry:
    """The text of `SHOW TABLE EXTENDED`: first what Spark says, then what users wrote.

    Texts of users may have lines that look the same. So the kind and the format are the first of
    their lines, and the location is the last before the schema.
    """
    lines = information.rpartition("\nSchema: root")[0] or information
    kinds = re.findall(r"^Type: (.*)$", lines, re.MULTILINE)
    kind = kinds[0] if kinds else ""
    if kind == "VIEW" or is_temporary:
        created = re.findall(r"^Created Time: (.*)$", lines, re.MULTILINE)
        shown = created[0] if created and is_temporary else None
        return TableEntry(parts, "VIEW", is_temporary=is_temporary, created=shown)
    providers = re.findall(r"^Provider: (.*)$", lines, re.MULTILINE)
    locations = re.findall(r"^Location: (.*)$", lines, re.MULTILINE)
    owners = re.findall(r"^Owner: (.*)$", lines, re.MULTILINE)
    return TableEntry(
        parts,
        kind,
        providers[0].lower() if providers else None,
        locations[-1] if locations else None,
        owner=owners[0] if owners else None,
    )
