"""Makes a classic session know Delta tables: Java classes, callbacks, rules and catalog."""

from __future__ import annotations

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from lakebed.sessions.native.python_side import PythonSide
from lakebed.spark.internals.session.bridge import connect, set_up
from lakebed.spark.stores import failures
from lakebed.sql.suggestions import suggest_names


def enable_native(spark: SparkSession) -> None:
    """Once for a session; enabling it twice does no harm."""
    answer_for(spark)
    set_up(spark)


def answer_for(spark: SparkSession) -> None:
    """Lets this process answer the questions of the session's JVM."""
    failures.install(suggest)
    connect(spark, lambda: PythonSide(spark))


def suggest(error: Exception) -> None:
    """Adds names of tables to Spark's error about one that is not there."""
    session = SparkSession.getActiveSession()
    if session is not None and isinstance(error, AnalysisException):
        suggest_names(session, error)
