"""Makes a classic session know Delta tables: Java classes, callbacks, rules and catalog."""

from __future__ import annotations

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from lakebed.sessions.native.side import PythonSide
from lakebed.spark import failures
from lakebed.spark.internals.classes import load_classes
from lakebed.spark.internals.jvm import Jvm
from lakebed.spark.internals.rules import METADATA_ONLY, compiled, install_rule
from lakebed.sql.suggestions import suggest_names


def suggest(error: Exception) -> None:
    """Adds names of tables to Spark's error about one that is not there."""
    session = SparkSession.getActiveSession()
    if session is not None and isinstance(error, AnalysisException):
        suggest_names(session, error)


_CONNECTED = "_lakebed_python_side"


def enable_native(spark: SparkSession) -> None:
    """Once for a session; enabling it twice does no harm."""
    gateway = spark.sparkContext._gateway
    load_classes(gateway, str(spark.version))
    failures.install(suggest)
    Jvm.of(spark).start_callbacks()
    if _CONNECTED not in vars(gateway):
        side = PythonSide(spark)
        gateway.jvm.lakebed.Bridge.connect(side)
        vars(gateway)[_CONNECTED] = side
    compiled(spark, "SessionSetup").install(spark._jsparkSession)
    install_rule(spark, METADATA_ONLY)
