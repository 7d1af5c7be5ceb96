"""Makes a classic session know Delta tables: Java classes, callbacks, rules and catalog."""

from __future__ import annotations

from difflib import get_close_matches

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession

from lakebed.errors import LakebedError
from lakebed.sessions.native.python_side import PythonSide
from lakebed.spark.catalog.session_catalog import catalog_of
from lakebed.spark.internals import jvm
from lakebed.spark.internals.session.bridge import connect, set_up
from lakebed.spark.session.split_names import split_name
from lakebed.spark.stores import failures


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
    is_missing = isinstance(error, AnalysisException) and error.getCondition() == _MISSING
    if session is not None and is_missing:
        _suggest(session, error)


def _suggest(session: SparkSession, error: AnalysisException) -> None:
    name = (error.getMessageParameters() or {}).get("relationName")
    try:
        near = [] if name is None else _near(session, split_name(name))
    except (LakebedError, PySparkException):
        # Spark's error says the most important part.
        return
    if near:
        jvm.amend_error(error, f"did you mean {' or '.join(near)}?")


def _near(session: SparkSession, parts: list[str]) -> list[str]:
    catalog = catalog_of(session)
    database = parts[-2] if len(parts) > 1 else catalog.current_database()
    known = {each.lower(): each for each in catalog.databases()}
    if database.lower() not in known:
        return get_close_matches(database, list(known.values()), n=3)
    prefix = f"{database}." if len(parts) > 1 else ""
    tables = {each.lower(): each for each in catalog.tables(database)}
    found = get_close_matches(parts[-1].lower(), tables, n=3)
    return [f"{prefix}{tables[each]}" for each in found]


_MISSING = "TABLE_OR_VIEW_NOT_FOUND"
