"""How Lakebed's Java classes call Python, and how a session gets their rules.

Tests are in `test_native_source`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from py4j.java_gateway import JavaObject
from py4j.protocol import GATEWAY_SERVER_OBJECT_ID
from pyspark.sql import DataFrame, SparkSession

from lakebed.spark.internals.jvm import Jvm
from lakebed.spark.internals.startup.classes import load_classes
from lakebed.spark.internals.startup.rules import METADATA_ONLY, compiled, install_rule

_SIDE = "_lakebed_python_side"


def connect(session: SparkSession, make: Callable[[], object]) -> None:
    """Gives the JVM of a session the object that answers its requests, which is created once."""
    gateway = session.sparkContext._gateway
    load_classes(gateway, str(session.version))
    Jvm.of(session).start_callbacks()
    if _SIDE not in vars(gateway):
        vars(gateway)[_SIDE] = make()
        server = JavaObject(GATEWAY_SERVER_OBJECT_ID, gateway._gateway_client)
        gateway.jvm.lakebed.Bridge.connect(vars(gateway)[_SIDE], server)


def set_up(session: SparkSession) -> None:
    """Rules, catalog and parser of a session, and of those derived from it."""
    compiled(session, "SessionSetup").install(session._jsparkSession)
    install_rule(session, METADATA_ONLY)


def handed_over(answer: Any) -> Any:
    """An answer as py4j takes it."""
    return answer._jdf if isinstance(answer, DataFrame) else answer
