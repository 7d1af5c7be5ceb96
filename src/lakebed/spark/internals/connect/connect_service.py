"""Spark Connect's service in the JVM of a classic session. Tests are in `tests/connect`."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from lakebed.errors import UnsupportedSparkError
from lakebed.spark.internals.session.classes import has_connect

RELATIONS = "spark.connect.extensions.relation.classes"
"""The setting that names the classes for relations that Spark does not know."""
TABLE_CALLS = "lakebed.TableCalls"


def start_service(session: SparkSession) -> int:
    """Listens, and gives the port."""
    context: Any = session.sparkContext
    if not has_connect(context._gateway):
        raise UnsupportedSparkError(
            f"this Spark {session.version} has no server of Spark Connect",
            hint=f"pip install 'pyspark=={session.version}', which has one, and unset SPARK_HOME",
        )
    service = context._jvm.org.apache.spark.sql.connect.service
    service.SparkConnectService.start(context._jsc.sc())
    return int(getattr(getattr(service, "SparkConnectService$"), "MODULE$").localPort())
