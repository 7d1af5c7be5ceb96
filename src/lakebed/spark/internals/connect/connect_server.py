"""Spark Connect's service in the JVM of a classic session, and columns that its clients send.

Tests are in `tests/connect`.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession

from lakebed.errors import UnsupportedSparkError
from lakebed.spark.internals.startup.classes import has_connect

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


def bound_column(column: Column, mark: str, frame: DataFrame) -> Column:
    """The column with names such as `mark`.`0` bound to the columns of a DataFrame, by position.

    `TableCalls.java` binds them.
    """
    context: Any = frame.sparkSession.sparkContext
    return Column(context._jvm.lakebed.TableCalls.bound(column._jc, mark, frame._jdf))
