"""PySpark's objects for sessions of a JVM: one that Python did not start, and those that Python
does not keep alive (see `LentSessions.java`).

Tests are in `test_spark_commands` and `test_long_lived_driver`.
"""

from __future__ import annotations

import signal
from typing import Any

from py4j.finalizer import ThreadSafeFinalizer
from py4j.java_gateway import JavaClass, JavaObject
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.catalog import Catalog
from pyspark.sql.conf import RuntimeConfig


def attached_session() -> SparkSession:
    """The session of a JVM that already runs.

    The port and the secret of the JVM's py4j server are in the environment.
    """
    gateway = launch_gateway()
    running = gateway.jvm.org.apache.spark.SparkContext.getOrCreate()
    java = gateway.jvm.JavaSparkContext.fromSparkContext(running)
    context = SparkContext(gateway=gateway, jsc=java, conf=SparkConf(_jconf=java.getConf()))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # PySpark has set it
    return SparkSession(context, gateway.jvm.lakebed.Bridge.session())


def session_name(session: SparkSession) -> str:
    """As `LentSessions.java` makes it."""
    return f"lakebed session {session._jsparkSession.sessionUUID()}"


def session_named(name: str, known: SparkSession) -> SparkSession:
    """The session with this name; `known` is a session that PySpark keeps anyway."""
    if name == session_name(known):
        return SparkSession(known.sparkContext, known._jsparkSession)
    return LentSession(known.sparkContext, name)


class LentSession(SparkSession):
    """PySpark's object for a session that it does not keep alive.

    What PySpark would keep of the JVM, which has the session in turn, is created for each use.
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
