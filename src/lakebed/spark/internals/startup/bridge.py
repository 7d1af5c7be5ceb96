"""The bridge between Lakebed's Java classes and Python: how they call it, and for which session.

Sessions are PySpark's objects for sessions of the JVM: one that Python did not start, and those
that Python does not keep alive (see `LentSessions.java`). Tests are in `test_native_source`,
`test_spark_commands` and `test_long_lived_driver`.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any

from py4j.finalizer import ThreadSafeFinalizer
from py4j.java_gateway import JavaClass, JavaObject
from py4j.protocol import GATEWAY_SERVER_OBJECT_ID
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.catalog import Catalog
from pyspark.sql.conf import RuntimeConfig

from lakebed.spark.internals.jvm import Jvm
from lakebed.spark.internals.startup.classes import load_classes
from lakebed.spark.internals.startup.rules import METADATA_ONLY, compiled, install_rule


def connect(session: SparkSession, make: Callable[[], object]) -> None:
    """Gives the JVM of a session the object that answers its requests, which is created once."""
    gateway = session.sparkContext._gateway
    load_classes(gateway, str(session.version))
    Jvm.of(session).start_callbacks()
    if _SIDE not in vars(gateway):
        vars(gateway)[_SIDE] = make()
        server = JavaObject(GATEWAY_SERVER_OBJECT_ID, gateway._gateway_client)
        gateway.jvm.lakebed.bridge.Bridge.connect(vars(gateway)[_SIDE], server)


def set_up(session: SparkSession) -> None:
    """Rules, catalog and parser of a session, and of those derived from it."""
    compiled(session, "lakebed.SessionSetup").install(session._jsparkSession)
    install_rule(session, METADATA_ONLY)


def java_value(answer: Any) -> Any:
    """An answer as a value that py4j can return."""
    return answer._jdf if isinstance(answer, DataFrame) else answer


def attached_session() -> SparkSession:
    """The session of a JVM that already runs.

    The port and the secret of the JVM's py4j server are in the environment.
    """
    gateway = launch_gateway()
    running = gateway.jvm.org.apache.spark.SparkContext.getOrCreate()
    java = gateway.jvm.JavaSparkContext.fromSparkContext(running)
    context = SparkContext(gateway=gateway, jsc=java, conf=SparkConf(_jconf=java.getConf()))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # PySpark has set it
    return SparkSession(context, gateway.jvm.lakebed.bridge.Bridge.session())


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


_SIDE = "_lakebed_python_side"
