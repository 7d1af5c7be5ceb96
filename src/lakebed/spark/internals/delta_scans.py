"""Scans of Delta tables in Spark's plans, and the versions that they read (see `DeltaScans.java`).

Tests are in `test_table_versions`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from lakebed.spark.internals.jvm import JavaObject, Jvm
from lakebed.spark.internals.startup.rules import DELTA_SCANS, compiled


def install_scan_rule(jvm: Jvm) -> None:
    """The rule of the optimizer that decides on versions, once for a session."""
    if not jvm.has_scan_rule:
        compiled(jvm.session, DELTA_SCANS).install(jvm.session._jsparkSession)
        jvm.has_scan_rule = True


def following(frame: DataFrame) -> list[JavaObject]:
    """The indexes in the plan of a DataFrame that follow their tables."""
    return list(_scans(frame.sparkSession).following(frame._jdf))


def replaced(
    frame: DataFrame, indexes: Sequence[JavaObject], replacements: Sequence[JavaObject]
) -> DataFrame:
    """The DataFrame with some of its indexes replaced."""
    session = frame.sparkSession
    plan = _scans(session).replaced(
        session._jsparkSession, frame._jdf, list(indexes), list(replacements)
    )
    return DataFrame(plan, session)


def recache(session: SparkSession, root: str) -> None:
    """Cached data of the table in a folder is computed again when it is next read."""
    _scans(session).recache(session._jsparkSession, root)


def _scans(session: SparkSession) -> Any:
    return compiled(session, DELTA_SCANS)
