"""Classes of Java, such as rules of the optimizer, compiled in the driver by Spark's own compiler.

Tests are in `test_jvm_rules`.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from lakebed.spark.internals.startup.classes import load_classes, new_instance

METADATA_ONLY = "lakebed.scans.MetadataOnly"
DELTA_FILES = "lakebed.scans.DeltaFiles"
TABLE_FILES = "lakebed.scans.TableFiles"
DELTA_SCANS = "lakebed.scans.DeltaScans"
TRACKED_PARQUET = "lakebed.scans.TrackedParquet"
ROW_IDS = "lakebed.scans.RowIds"
TABLE_WRITES = "lakebed.scans.TableWrites"
TEXTS = "lakebed.commands.Texts"
"""Java classes."""


def install_rule(session: SparkSession, name: str) -> Any:
    """Appends a rule to the session's; copies of the session have it too. The rule as an object."""
    experimental = session._jsparkSession.experimental()
    known = experimental.extraOptimizations()
    names = {str(known.apply(i).ruleName()) for i in range(known.length())}
    rule = compiled(session, name)
    if name not in names:
        getattr(experimental, "extraOptimizations_$eq")(known.appended(rule))
    return rule


def compiled(session: SparkSession, name: str) -> Any:
    """An instance of the class, one for the JVM."""
    gateway = session.sparkContext._gateway
    load_classes(gateway, str(session.version))
    return new_instance(gateway, name)
