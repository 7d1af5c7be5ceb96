"""The database behind an embedded catalog: SQLite in a file, or PostgreSQL by its URL.

SQL that both understand, with `?` for parameters. Each change is one transaction that takes the
catalog for itself first, so several processes may use one database.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from lakebed.errors import CatalogError, InvalidArgumentError

_WAIT_SECONDS = 60
Row = Sequence[Any]


class Session(Protocol):
    """A transaction."""

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]: ...


class Database(Protocol):
    def changing(self) -> Any:
        """A transaction that no one else's overlaps; a context manager of a `Session`."""

    def reading(self) -> Any:
        """The same for reads alone, which wait for no one."""


def open_database(url: str) -> Database:
    """`sqlite:///path/to/catalog.db`, or `postgresql://user@host/database`."""
    scheme = url.partition("://")[0].lower()
    if scheme == "sqlite":
        return _Sqlite(_sqlite_path(url))
    if scheme in ("postgresql", "postgres"):
        return _Postgres(url)
    raise InvalidArgumentError(
        f"{scheme!r} is not a kind of catalog",
        hint="write sqlite:///path/to/catalog.db or postgresql://user@host/database",
    )


class _Sqlite:
    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def changing(self) -> Iterator[Session]:
        with self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield _Executing(connection)

    @contextmanager
    def reading(self) -> Iterator[Session]:
        with self._connection() as connection:
            connection.execute("BEGIN")
            yield _Executing(connection)

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """One for each transaction: connections may not cross threads, and cost 50 µs."""
        try:
            connection = sqlite3.connect(self._path, timeout=_WAIT_SECONDS, isolation_level=None)
        except sqlite3.Error as error:
            raise _failed(str(self._path), error) from error
        try:
            yield connection
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise _failed(str(self._path), error) from error
        finally:
            # What is not committed by now is taken back.
            connection.close()


class _Executing:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        return list(self._connection.execute(sql, values).fetchall())


class _Postgres:
    def __init__(self, url: str) -> None:
        self._url = url

    @contextmanager
    def changing(self) -> Iterator[Session]:
        with self._connection() as session:
            # Whoever changes names waits for who does already; readers do not.
            session.rows("SELECT pg_advisory_xact_lock(7026154)")
            yield session

    @contextmanager
    def reading(self) -> Iterator[Session]:
        with self._connection() as session:
            yield session

    @contextmanager
    def _connection(self) -> Iterator[_PostgresSession]:
        try:
            import psycopg
        except ImportError as error:
            raise InvalidArgumentError(
                "a catalog in PostgreSQL needs the package psycopg",
                hint="pip install 'lakebed[postgres]'",
            ) from error
        try:
            with psycopg.connect(self._url, connect_timeout=_WAIT_SECONDS) as connection:
                yield _PostgresSession(connection)
        except psycopg.Error as error:
            raise _failed(_without_password(self._url), error) from error


class _PostgresSession:
    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        with self._connection.cursor() as cursor:
            cursor.execute(sql.replace("?", "%s"), values or None)
            return [] if cursor.description is None else list(cursor.fetchall())


def _sqlite_path(url: str) -> Path:
    """`sqlite:///data/catalog.db` is the file /data/catalog.db; there are no relative paths."""
    rest = unquote(url.partition("://")[2])
    path = "/" + rest.lstrip("/")
    if not rest.startswith("/") or path == "/" or "\0" in path:
        raise InvalidArgumentError(
            f"{url!r} does not name a file", hint="write sqlite:///path/to/catalog.db"
        )
    return Path(path)


def _without_password(url: str) -> str:
    """Without the user and the password."""
    try:
        where = urlsplit(url)
    except ValueError:
        return "in PostgreSQL"
    return f"{where.hostname}{where.path}"


def _failed(where: str, error: Exception) -> CatalogError:
    return CatalogError(
        f"the catalog {where} does not answer: {error}",
        hint="nothing was changed; look at the database and try again",
    )
