"""The rule and the parser that know Delta tables, inside of a session (see the package).

Tests are in `test_sql_scripts`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from lakebed.spark.internals.rules import compiled

SQL_RULES = "SqlRules"
"""A Java class in the file of the same name."""


def install_rules(session: SparkSession, callback: object, words: Collection[str]) -> None:
    """Once for a session; copies of it have them too. `callback` is told in `SqlRules.java`."""
    compiled(session, SQL_RULES).install(session._jsparkSession, callback, set(words))


def java_frame(frame: DataFrame | None) -> Any:
    """What a callback gives back to `SqlRules.java`."""
    return None if frame is None else frame._jdf


def session_of(session: SparkSession, java: Any) -> SparkSession:
    """The session that a callback is about. Spark makes copies of one, for streams among others."""
    if java.equals(session._jsparkSession):
        return session
    return SparkSession(session.sparkContext, java)


def given(session: SparkSession) -> DataFrame | None:
    """What the last statement gave that Spark has handed to the callback, for this thread."""
    if SQL_RULES not in vars(session.sparkContext._gateway).get("_lakebed_instances", {}):
        return None
    found = compiled(session, SQL_RULES).given()
    return None if found is None else DataFrame(found, session)
