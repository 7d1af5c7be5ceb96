"""An embedded catalog, mirrored into Spark's own: that of the session sees the same names.

Changes go to the database first, then to the mirror. All tables are external in the mirror, so that
Spark never deletes a file on its own.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache

from pyspark.sql import SparkSession

from lakebed.catalog.embedded import EmbeddedCatalog
from lakebed.catalog.entry import NewEntry, TableEntry, TakenError
from lakebed.catalog.object_names import check_location, check_schema_name
from lakebed.catalog.records import Content, NamespaceRecord, TableRecord
from lakebed.errors import InvalidArgumentError, TableExistsError, presentable
from lakebed.settings.setting_table import CATALOG
from lakebed.spark.internals.jvm_catalog import JvmCatalog, reason_of, refusals

_GENERATION = "_lakebed_catalog_generation"
_OWN_FOLDER = "/_lakebed_mirror"
_LOG = logging.getLogger("lakebed")
_lock = threading.Lock()
_reported: set[tuple[str, str]] = set()


@lru_cache(maxsize=16)
def _opened(url: str, warehouse: str) -> EmbeddedCatalog:
    return EmbeddedCatalog(url, warehouse)


def catalog_url(session: SparkSession) -> str | None:
    """None if the session has no embedded catalog."""
    return CATALOG.of(session) or None


class MirroredCatalog:
    """The embedded catalog of a session. Has the methods of Spark's own."""

    def __init__(self, session: SparkSession, url: str, mirror: JvmCatalog) -> None:
        self._session = session
        self._url = url
        self._mirror = mirror
        self.names = _opened(url, str(session.conf.get("spark.sql.warehouse.dir")))
        self.sync()

    def sync(self) -> None:
        """Brings the mirror up to date. One small query if nothing has changed."""
        seen = vars(self._session).get(_GENERATION)
        if seen == (self._url, self.names.generation()):
            return
        with _lock:
            content = self.names.content()
            for gone in self._mirrored() - {space.name for space in content.namespaces}:
                self._mirror.drop_database(gone)
            for space in content.namespaces:
                with self._hiding(space.name):
                    self._sync_namespace(space, content)
            vars(self._session)[_GENERATION] = (self._url, content.generation)

    @contextmanager
    def _hiding(self, name: str) -> Iterator[None]:
        """What Spark cannot show is left out, and all else is shown.

        Names and locations may come from an earlier version of Lakebed, or from a session that has
        a connector for a store which this one lacks.
        """
        try:
            yield
        except refusals() as error:
            if (self._url, name) not in _reported:
                _reported.add((self._url, name))
                _LOG.warning(
                    "Spark cannot show %r of the embedded catalog, and hides it: %s",
                    name,
                    presentable(reason_of(error)),
                )

    def _mirrored(self) -> set[str]:
        """The databases that the mirror created, in any session."""
        return {
            name
            for name in self._mirror.databases()
            if name != "default" and self._mirror.database_location(name).endswith(_OWN_FOLDER)
        }

    def _sync_namespace(self, space: NamespaceRecord, content: Content) -> None:
        """Names that the session has of its own stay, unless the catalog has them too."""
        if not self._mirror.has_database(space.name):
            self._mirror_namespace(space)
        wanted = {table.name: table for table in content.tables if table.namespace == space.name}
        folder = f"{space.location.rstrip('/')}/"
        for name in self._mirror.tables(space.name):
            entry = self._mirror.find(space.name, name)
            if entry is None:
                continue
            where = _normalized(entry.location or "")
            if name.lower() in wanted and _normalized(wanted[name.lower()].location) == where:
                del wanted[name.lower()]
            # With a managed table Spark would delete the files: none of those is the mirror's.
            elif not entry.is_delta or entry.is_managed:
                wanted.pop(name.lower(), None)
            elif name.lower() in wanted or _is_mirrored(where, folder, content):
                self._mirror.drop(space.name, name)
        for table in wanted.values():
            with self._hiding(f"{space.name}.{table.name}"):
                self._mirror.create(
                    NewEntry(
                        space.name,
                        table.name,
                        table.location,
                        is_managed=False,
                        comment=table.comment,
                        owner=table.owner,
                    )
                )

    def _mirror_namespace(self, space: NamespaceRecord) -> None:
        # Spark deletes the folder of a database with it, so this is not where the tables are.
        self._mirror.create_database(
            space.name, f"{space.location.rstrip('/')}{_OWN_FOLDER}", space.comment or ""
        )

    def current_catalog(self) -> str:
        return self._mirror.current_catalog()

    def current_database(self) -> str:
        return self._mirror.current_database()

    def has_database(self, database: str) -> bool:
        return self._mirror.has_database(database)

    def databases(self) -> list[str]:
        return self._mirror.databases()

    def tables(self, database: str) -> list[str]:
        return self._mirror.tables(database)

    def database_location(self, database: str) -> str:
        found = self.names.namespace(database)
        return self._mirror.database_location(database) if found is None else found.location

    def managed_location(self, database: str, name: str) -> str:
        """A folder that no other table has had."""
        folder = self.database_location(database).rstrip("/")
        return f"{folder}/{name.lower()}-{uuid.uuid4().hex[:12]}"

    def find(self, database: str | None, name: str) -> TableEntry | None:
        found = self._mirror.find(database, name)
        if found is None or not found.is_delta:
            return found
        record = self.names.find(*found.parts)
        if record is None:
            return found
        kind = "MANAGED" if record.is_managed else "EXTERNAL"
        return replace(found, kind=kind, comment=record.comment, owner=record.owner)

    def create(self, entry: NewEntry) -> None:
        record = TableRecord(
            "",
            entry.database,
            entry.name,
            entry.location,
            entry.is_managed,
            entry.comment,
            entry.owner or self._user(),
        )
        if self._mirror.find(entry.database, entry.name) is not None:
            raise TakenError(f"{entry.database}.{entry.name}")
        try:
            self.names.add(record)
        except TableExistsError as error:
            raise TakenError(f"{entry.database}.{entry.name}") from error
        self.sync()

    def replace(self, entry: NewEntry) -> None:
        """A table of Spark's own becomes one of the catalog; its files stay."""
        self._mirror.replace(replace(entry, is_managed=False))
        self.names.add(
            TableRecord("", entry.database, entry.name, entry.location, False, entry.comment)
        )

    def drop(self, database: str, name: str) -> bool:
        found = self.names.drop(database, name)
        self.sync()
        return found is not None

    def rename(self, database: str, name: str, new_name: str) -> None:
        self.names.rename(database, name, new_name)
        self.sync()

    def create_namespace(
        self, name: str, location: str | None, comment: str | None, *, if_not_exists: bool
    ) -> bool:
        """False if it is there already."""
        default = self.database_location("default").rstrip("/")
        place = location or f"{default}/{name.lower()}.db"
        check_schema_name(name)
        check_location(place)
        space = NamespaceRecord(name.lower(), place, comment, self._user())
        if not self._mirror.has_database(space.name):
            try:
                # Before it is stored: what this Spark refuses would be hidden from it for ever.
                self._mirror_namespace(space)
            except refusals() as error:
                raise InvalidArgumentError(
                    f"Spark cannot make the schema {name} at {place}: {reason_of(error)}",
                    hint="choose another name or location, or give Spark a connector for its store",
                ) from error
        try:
            is_new = self.names.create_namespace(space)
        finally:
            # If another process was first, its location counts.
            vars(self._session).pop(_GENERATION, None)
            self.sync()
        return is_new or if_not_exists

    def drop_namespace(self, name: str, *, cascade: bool) -> bool:
        """Its tables are dropped, and can be brought back with it."""
        done = self.names.drop_namespace(name, cascade=cascade)
        if done:
            if self._mirror.has_database(name):
                self._mirror.drop_database(name)
            self.sync()
        return done

    def _user(self) -> str | None:
        user = self._session.sql("SELECT current_user()").head()
        return None if user is None else str(user[0])


def _is_mirrored(location: str, folder: str, content: Content) -> bool:
    return location in map(_normalized, content.locations) or location.startswith(
        _normalized(folder)
    )


def _normalized(location: str) -> str:
    """file:/data and file:///data are the same, and so is /data."""
    if location.startswith("file:"):
        return "/" + location.removeprefix("file:").lstrip("/")
    return location
