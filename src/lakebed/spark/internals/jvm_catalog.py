"""The session catalog of a classic session, by py4j: Spark's own table of names.

SQL text could do the same, but would start a Python worker for each table of Lakebed's data source,
and would not let a managed table have its files before it has its name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession

from lakebed.catalog.entry import SESSION_CATALOG, NewEntry, TableEntry, TakenError

_TABLE = "org.apache.spark.sql.catalyst.catalog.CatalogTable"
_FIELDS = [
    "identifier",
    "tableType",
    "storage",
    "schema",
    "provider",
    "partitionColumnNames",
    "bucketSpec",
    "owner",
    "createTime",
    "lastAccessTime",
    "createVersion",
    "properties",
    "stats",
    "viewText",
    "comment",
]
"""The first fields of a CatalogTable, the same in Spark 4.0 to 4.3; those that follow differ."""
_NO_COLUMNS = json.dumps({"type": "struct", "fields": []})


def refusals() -> tuple[type[Exception], ...]:
    """What calls of the JVM raise; some versions of PySpark translate more of Java's exceptions."""
    try:
        from py4j.protocol import Py4JError
    except ImportError:
        # Clients of Spark Connect import this module, and need not have py4j.
        return (PySparkException,)
    return PySparkException, Py4JError


def reason_of(error: Exception) -> str:
    """The first line: Java's errors have their trace below it."""
    text = getattr(error, "java_exception", error)
    return (str(text).splitlines() or [type(error).__name__])[0]


class JvmCatalog:
    """The catalog that the classic session has now."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._jvm: Any = session.sparkContext._jvm
        self._catalog = session._jsparkSession.sessionState().catalog()

    def current_catalog(self) -> str:
        manager = self._session._jsparkSession.sessionState().catalogManager()
        return str(manager.currentCatalog().name())

    def current_database(self) -> str:
        return str(self._catalog.getCurrentDatabase())

    def has_database(self, database: str) -> bool:
        return bool(self._catalog.databaseExists(database))

    def databases(self) -> list[str]:
        return [str(each) for each in _listed(self._jvm, self._catalog.listDatabases())]

    def tables(self, database: str) -> list[str]:
        found = _listed(self._jvm, self._catalog.listTables(database))
        return [str(each.table()) for each in found]

    def database_location(self, database: str) -> str:
        return self._text(self._catalog.getDatabaseMetadata(database).locationUri())

    def find(self, database: str | None, name: str) -> TableEntry | None:
        identifier = self._identifier(database, name)
        if self._catalog.isTempView(identifier):
            return TableEntry((name,), "VIEW", is_temporary=True)
        if not self._catalog.tableExists(identifier):
            return None
        try:
            return self._entry(self._catalog.getTableMetadata(identifier))
        except AnalysisException:
            # Another session may have dropped it meanwhile.
            if self._catalog.tableExists(identifier):
                raise
            return None

    def create(self, entry: NewEntry) -> None:
        """Only the name: files are neither read nor written."""
        try:
            self._catalog.createTable(self._table(entry), False, False)
        except AnalysisException as error:
            if error.getCondition() != "TABLE_OR_VIEW_ALREADY_EXISTS":
                raise
            raise TakenError(f"{entry.database}.{entry.name}") from error

    def replace(self, entry: NewEntry) -> None:
        self._catalog.externalCatalog().alterTable(self._table(entry))
        self._catalog.refreshTable(self._identifier(entry.database, entry.name))

    def drop(self, database: str, name: str) -> bool:
        """False if there was none. Spark deletes the folder of a managed table."""
        try:
            self._catalog.dropTable(self._identifier(database, name), False, False)
        except AnalysisException as error:
            if error.getCondition() != "TABLE_OR_VIEW_NOT_FOUND":
                raise
            return False
        return True

    def rename(self, database: str, name: str, new_name: str) -> None:
        old, new = self._identifier(database, name), self._identifier(database, new_name)
        try:
            self._catalog.renameTable(old, new)
        except AnalysisException as error:
            if error.getCondition() != "TABLE_OR_VIEW_ALREADY_EXISTS":
                raise
            raise TakenError(f"{database}.{new_name}") from error

    def drop_database(self, database: str) -> None:
        self._catalog.dropDatabase(database, False, True)

    def create_database(self, database: str, location: str, comment: str) -> None:
        metadata = self._jvm.java.lang.Class.forName(
            "org.apache.spark.sql.catalyst.catalog.CatalogDatabase"
        )
        values = [
            database,
            comment,
            self._jvm.org.apache.hadoop.fs.Path(location).toUri(),
            self._map({}),
        ]
        self._catalog.createDatabase(self._new_instance(metadata, values), True)

    def _entry(self, table: Any) -> TableEntry:
        identifier, storage = table.identifier(), table.storage()
        location, provider = storage.locationUri(), table.provider()
        return TableEntry(
            (str(identifier.database().get()), str(identifier.table())),
            str(table.tableType().name()),
            None if provider.isEmpty() else str(provider.get()).lower(),
            None if location.isEmpty() else self._text(location.get()),
            comment=None if table.comment().isEmpty() else str(table.comment().get()),
            owner=str(table.owner()) or None,
        )

    def _table(self, entry: NewEntry) -> Any:
        names = self._jvm.org.apache.spark.sql.catalyst.catalog
        kinds = names.CatalogTableType
        given = {
            "identifier": self._identifier(entry.database, entry.name),
            "tableType": kinds.MANAGED() if entry.is_managed else kinds.EXTERNAL(),
            "storage": self._storage(entry.location),
            "schema": self._jvm.org.apache.spark.sql.types.DataType.fromJson(
                entry.schema or _NO_COLUMNS
            ),
            "provider": self._option("delta"),
            "partitionColumnNames": self._jvm.PythonUtils.toSeq(_trailing(entry)),
            "comment": self._option(entry.comment),
        }
        given["owner"] = entry.owner or self._session.sparkContext.sparkUser()
        kind = self._jvm.java.lang.Class.forName(_TABLE)
        count = kind.getConstructors()[0].getParameterCount()
        module = self._jvm.java.lang.Class.forName(f"{_TABLE}$").getField("MODULE$").get(None)
        fields = [*_FIELDS, *([""] * count)][:count]
        values = [
            given[field]
            if field in given
            else getattr(module, f"$lessinit$greater$default${place}")()
            for place, field in enumerate(fields, start=1)
        ]
        return self._new_instance(kind, values)

    def _storage(self, location: str) -> Any:
        """Like the empty one, with a location. Spark's versions have different fields."""
        names = self._jvm.org.apache.spark.sql.catalyst.catalog
        empty = names.CatalogStorageFormat.empty()
        uri = self._jvm.org.apache.hadoop.fs.Path(location).toUri()
        values = [
            self._option(uri)
            if empty.productElementName(i) == "locationUri"
            else empty.productElement(i)
            for i in range(empty.productArity())
        ]
        return self._new_instance(empty.getClass(), values)

    def _new_instance(self, kind: Any, values: list[Any]) -> Any:
        gateway = self._session.sparkContext._gateway
        array = gateway.new_array(self._jvm.java.lang.Object, len(values))
        for i, value in enumerate(values):
            array[i] = value
        return kind.getConstructors()[0].newInstance(array)

    def _identifier(self, database: str | None, name: str) -> Any:
        kind = self._jvm.org.apache.spark.sql.catalyst.TableIdentifier
        if database is None:
            return kind(name)
        return kind(name, self._option(database), self._option(SESSION_CATALOG))

    def _option(self, value: Any) -> Any:
        return self._jvm.scala.Option.apply(value)

    def _map(self, values: Mapping[str, str]) -> Any:
        return self._jvm.PythonUtils.toScalaMap(dict(values))

    def _text(self, uri: Any) -> str:
        """As Hadoop writes paths: no character is escaped."""
        return str(self._jvm.org.apache.hadoop.fs.Path(uri).toString())


def _trailing(entry: NewEntry) -> list[str]:
    """A Hive metastore wants partition columns to be the last ones; the log knows them anyway."""
    names = [each["name"] for each in json.loads(entry.schema or _NO_COLUMNS)["fields"]]
    count = len(entry.partition_by)
    return list(entry.partition_by) if names[len(names) - count :] == [*entry.partition_by] else []


def _listed(jvm: Any, found: Any) -> list[Any]:
    return list(jvm.scala.jdk.javaapi.CollectionConverters.asJava(found))
