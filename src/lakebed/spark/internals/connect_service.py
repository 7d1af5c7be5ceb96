"""Spark Connect's service in the JVM of a classic session. Tests are in `tests/connect`."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

RELATIONS = "spark.connect.extensions.relation.classes"
"""The setting that names the classes for relations that Spark does not know."""
TABLE_CALLS = "lakebed.TableCalls"


def start_service(session: SparkSession) -> int:
    """Listens, and gives the port."""
    context: Any = session.sparkContext
    service = context._jvm.org.apache.spark.sql.connect.service
    service.SparkConnectService.start(context._jsc.sc())
    return int(getattr(getattr(service, "SparkConnectService$"), "MODULE$").localPort())
