"""A session of the JVM that Python reaches only while it answers (see `LentSessions.java`).

Tests are in `test_long_lived_driver`.
"""

from __future__ import annotations

from typing import Any

from py4j.finalizer import ThreadSafeFinalizer
from py4j.java_gateway import JavaClass, JavaObject
from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.catalog import Catalog
from pyspark.sql.conf import RuntimeConfig


def session_name(session: SparkSession) -> str:
    """As `LentSessions.java` makes it."""
    return f"lakebed session {session._jsparkSession.sessionUUID()}"


def session_named(name: str, known: SparkSession) -> SparkSession:
    """`known` is a session that is kept anyway."""
    if name == session_name(known):
        return SparkSession(known.sparkContext, known._jsparkSession)
    return LentSession(known.sparkContext, name)


class LentSession(SparkSession):
    """PySpark's object for a session that it does not keep alive.

    What PySpark would keep of the JVM, which has the session in turn, is made for each use.
    """

    def __init__(self, context: SparkContext, name: str) -> None:
        client = context._gateway._gateway_client
        java = JavaObject(name, client)
        # The JVM takes the name back itself; py4j would do so when another one uses it.
        ThreadSafeFinalizer.remove_finalizer(f"{client.address}{client.port}{name}")
        super().__init__(context, java)

    @property
    def conf(self) -> RuntimeConfig:
        return RuntimeConfig(self._jsparkSession.conf())

    @property
    def catalog(self) -> Catalog:
        return Catalog(self)

    def createDataFrame(self, *args: Any, **options: Any) -> DataFrame:
        # PySpark takes the session that does this for the active one of the process, in all
        # threads: it must be one that they can use, and not stay there.
        same = JavaClass("java.util.Objects", self._sc._gateway._gateway_client).requireNonNull
        kept = SparkSession(self._sc, same(self._jsparkSession))
        before = SparkSession._activeSession
        try:
            return kept.createDataFrame(*args, **options)
        finally:
            SparkSession._activeSession = before
