"""An embedded catalog: names of tables in a database that several processes share.

A table that is dropped stays as a record until its files are deleted, so UNDROP is a change of one
record. Managed tables have folders of their own, which no later table gets. Every change raises the
generation, by which others see that there is something new.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from typing import Any

from lakebed.catalog.database import Session, open_database
from lakebed.catalog.object_names import check_location, check_name, check_schema_name
from lakebed.catalog.records import Content, NamespaceRecord, TableRecord
from lakebed.errors import InvalidArgumentError, TableExistsError, TableNotFoundError

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS lakebed_state (name VARCHAR(64) PRIMARY KEY, value BIGINT)",
    "CREATE TABLE IF NOT EXISTS lakebed_namespaces (name VARCHAR(255) PRIMARY KEY, "
    "location TEXT NOT NULL, comment TEXT, owner TEXT)",
    "CREATE TABLE IF NOT EXISTS lakebed_tables (id VARCHAR(36) PRIMARY KEY, "
    "namespace VARCHAR(255) NOT NULL, name VARCHAR(255) NOT NULL, location TEXT NOT NULL, "
    "managed INTEGER NOT NULL, comment TEXT, owner TEXT, created BIGINT NOT NULL, dropped BIGINT)",
    "CREATE UNIQUE INDEX IF NOT EXISTS lakebed_names ON lakebed_tables (namespace, name) "
    "WHERE dropped IS NULL",
    "INSERT INTO lakebed_state VALUES ('generation', 0) ON CONFLICT DO NOTHING",
)
_TABLE = "id, namespace, name, location, managed, comment, owner, created, dropped"


class EmbeddedCatalog:
    """Names are in small letters, as in Spark's own catalog."""

    def __init__(self, url: str, warehouse: str) -> None:
        """`warehouse` is the folder of the namespace `default`, if the catalog is a new one."""
        self._database = open_database(url)
        with self._database.changing() as session:
            for sql in _SCHEMA:
                session.rows(sql)
            session.rows(
                "INSERT INTO lakebed_namespaces VALUES ('default', ?, NULL, NULL) "
                "ON CONFLICT DO NOTHING",
                (warehouse,),
            )

    def generation(self) -> int:
        with self._database.reading() as session:
            return int(
                session.rows("SELECT value FROM lakebed_state WHERE name = 'generation'")[0][0]
            )

    def content(self) -> Content:
        """All of it, at one moment."""
        with self._database.changing() as session:
            generation = _generation(session)
            spaces = session.rows("SELECT name, location, comment, owner FROM lakebed_namespaces")
            rows = session.rows(f"SELECT {_TABLE} FROM lakebed_tables")
        tables = [_record(row) for row in rows]
        return Content(
            generation,
            [NamespaceRecord(*row) for row in spaces],
            [table for table in tables if table.dropped is None],
            {table.location for table in tables},
        )

    def namespace(self, name: str) -> NamespaceRecord | None:
        with self._database.reading() as session:
            return _namespace(session, name)

    def create_namespace(self, record: NamespaceRecord) -> bool:
        """False if it is there already."""
        check_schema_name(record.name)
        check_location(record.location)
        with self._database.changing() as session:
            if _namespace(session, record.name) is not None:
                return False
            values = (record.name.lower(), record.location, record.comment, record.owner)
            session.rows("INSERT INTO lakebed_namespaces VALUES (?, ?, ?, ?)", values)
            _changed(session)
        return True

    def drop_namespace(self, name: str, *, cascade: bool = False) -> bool:
        """False if there was none. With `cascade` its tables are dropped too."""
        with self._database.changing() as session:
            if _namespace(session, name) is None:
                return False
            where = "namespace = ? AND dropped IS NULL"
            count = session.rows(
                f"SELECT count(*) FROM lakebed_tables WHERE {where}", (name.lower(),)
            )
            if count[0][0] and not cascade:
                raise InvalidArgumentError(
                    f"the namespace {name} has {count[0][0]} tables", hint="write CASCADE"
                )
            session.rows(
                f"UPDATE lakebed_tables SET dropped = ? WHERE {where}", (_now(), name.lower())
            )
            session.rows("DELETE FROM lakebed_namespaces WHERE name = ?", (name.lower(),))
            _changed(session)
        return True

    def find(self, namespace: str, name: str) -> TableRecord | None:
        with self._database.reading() as session:
            return _found(session, namespace, name)

    def add(self, record: TableRecord) -> TableRecord:
        """Exactly one of several that add a name gets it; the others get an error."""
        check_name(record.name)
        check_location(record.location)
        with self._database.changing() as session:
            if _namespace(session, record.namespace) is None:
                raise TableNotFoundError(f"there is no namespace {record.namespace}")
            _check_free(session, record.namespace, record.name)
            made = TableRecord(
                str(uuid.uuid4()),
                record.namespace.lower(),
                record.name.lower(),
                record.location,
                record.is_managed,
                record.comment,
                record.owner,
                _now(),
            )
            _insert(session, made)
            _changed(session)
        return made

    def drop(self, namespace: str, name: str) -> TableRecord | None:
        """The record of the table, which stays; None if there was none."""
        with self._database.changing() as session:
            found = _found(session, namespace, name)
            if found is not None:
                sql = "UPDATE lakebed_tables SET dropped = ? WHERE id = ?"
                session.rows(sql, (_now(), found.id))
                _changed(session)
        return found

    def undrop(self, namespace: str, name: str, since: int = 0) -> TableRecord:
        """Brings back what was dropped last under the name, if that was not before `since`."""
        with self._database.changing() as session:
            _check_free(session, namespace, name)
            rows = session.rows(
                f"SELECT {_TABLE} FROM lakebed_tables WHERE namespace = ? AND name = ? "
                "AND dropped >= ? ORDER BY dropped DESC, created DESC",
                (namespace.lower(), name.lower(), since),
            )
            if not rows or _namespace(session, namespace) is None:
                raise TableNotFoundError(
                    f"there is no dropped table {namespace}.{name} to bring back",
                    hint="tables come back within the retention, if their namespace is there",
                )
            found = _record(rows[0])
            session.rows("UPDATE lakebed_tables SET dropped = NULL WHERE id = ?", (found.id,))
            _changed(session)
        return found

    def rename(self, namespace: str, name: str, new_name: str) -> None:
        """Only the name: the table stays where it is."""
        check_name(new_name)
        with self._database.changing() as session:
            found = _found(session, namespace, name)
            if found is None:
                raise TableNotFoundError(f"there is no table {namespace}.{name}")
            _check_free(session, namespace, new_name)
            sql = "UPDATE lakebed_tables SET name = ? WHERE id = ?"
            session.rows(sql, (new_name.lower(), found.id))
            _changed(session)

    def expired(self, before: int) -> list[TableRecord]:
        """Managed tables that were dropped before: their files may go."""
        with self._database.reading() as session:
            rows = session.rows(
                f"SELECT {_TABLE} FROM lakebed_tables WHERE dropped < ? AND managed = 1", (before,)
            )
        return [_record(row) for row in rows]

    def forget(self, table_id: str) -> bool:
        """Deletes the record of a dropped table; False if it is there again, or forgotten."""
        with self._database.changing() as session:
            where = "id = ? AND dropped IS NOT NULL"
            rows = session.rows(f"SELECT id FROM lakebed_tables WHERE {where}", (table_id,))
            session.rows(f"DELETE FROM lakebed_tables WHERE {where}", (table_id,))
        return bool(rows)


def _namespace(session: Session, name: str) -> NamespaceRecord | None:
    sql = "SELECT name, location, comment, owner FROM lakebed_namespaces WHERE name = ?"
    rows = session.rows(sql, (name.lower(),))
    return NamespaceRecord(*rows[0]) if rows else None


def _found(session: Session, namespace: str, name: str) -> TableRecord | None:
    where = "namespace = ? AND name = ? AND dropped IS NULL"
    sql = f"SELECT {_TABLE} FROM lakebed_tables WHERE {where}"
    rows = session.rows(sql, (namespace.lower(), name.lower()))
    return _record(rows[0]) if rows else None


def _check_free(session: Session, namespace: str, name: str) -> None:
    if _found(session, namespace, name) is not None:
        raise TableExistsError(
            f"there is a table {namespace}.{name} already", hint="choose another name"
        )


def _insert(session: Session, table: TableRecord) -> None:
    values = (
        *(table.id, table.namespace, table.name, table.location, int(table.is_managed)),
        *(table.comment, table.owner, table.created, table.dropped),
    )
    session.rows(
        f"INSERT INTO lakebed_tables ({_TABLE}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", values
    )


def _generation(session: Session) -> int:
    rows = session.rows("SELECT value FROM lakebed_state WHERE name = 'generation'")
    return int(rows[0][0])


def _changed(session: Session) -> None:
    session.rows("UPDATE lakebed_state SET value = value + 1 WHERE name = 'generation'")


def _record(row: Sequence[Any]) -> TableRecord:
    table_id, namespace, name, location, managed, comment, owner, created, dropped = row
    return TableRecord(
        table_id, namespace, name, location, bool(managed), comment, owner, created, dropped
    )


def _now() -> int:
    return int(time.time() * 1000)
