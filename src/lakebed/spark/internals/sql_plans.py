"""Statements of SQL as Spark's parser reads them, and the Delta tables in them (see the package).

Tests are in `test_sql_queries`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from pyspark.sql import DataFrame, SparkSession

from lakebed.spark.internals.rules import compiled

SQL_PLANS = "SqlPlans"
"""A Java class in the file of the same name."""


@dataclass(frozen=True)
class SqlPlan:
    """A statement that reads Delta tables. `references` are told as `SqlPlans.java` tells them."""

    session: SparkSession
    references: Sequence[Mapping[str, Any]]
    _statement: Any

    def frame(self, frames: Sequence[DataFrame]) -> DataFrame:
        """What `spark.sql` gives, with a DataFrame in the place of each reference."""
        plans = [each._jdf for each in frames]
        return DataFrame(self._statement.frame(plans), self.session)


def is_available(session: SparkSession) -> bool:
    """Whether this Spark is one that the Java class was written for; a warning is logged if not."""
    gateway = vars(session.sparkContext._gateway)
    if _AVAILABLE not in gateway:
        try:
            compiled(session, SQL_PLANS)
            gateway[_AVAILABLE] = True
        except Exception:  # noqa: BLE001 - the compiler may fail in any way
            _LOG.warning(
                "Lakebed cannot use Spark's parser, and reads SQL by itself", exc_info=True
            )
            gateway[_AVAILABLE] = False
    return bool(gateway[_AVAILABLE])


_AVAILABLE = "_lakebed_sql_plans"
_LOG = logging.getLogger("lakebed")


def find_in_text(session: SparkSession, text: str) -> SqlPlan | None:
    """None if the session is not enabled, or the text names no Delta table."""
    return _plan(session, _find(session, "find")(session._jsparkSession, text))


def run_or_find(session: SparkSession, text: str) -> DataFrame | SqlPlan:
    """What `spark.sql` gives if the text names no Delta table, in a single call of the JVM."""
    frame = _find(session, "runOrFind")(session._jsparkSession, text)
    if frame is not None:
        return DataFrame(frame, session)
    plan = _plan(session, _find(session, "found")())
    assert plan is not None
    return plan


def find_table(session: SparkSession, name: str, options: Mapping[str, str]) -> SqlPlan | None:
    """The same for the name of a table or view."""
    find = _find(session, "findTable")
    return _plan(session, find(session._jsparkSession, name, dict(options)))


def note_caching(session: SparkSession, name: str, *, is_cached: bool) -> None:
    """Before `spark.catalog` caches a table or view, or takes it out of the cache."""
    _find(session, "noteCaching")(session._jsparkSession, name, is_cached)


def _find(session: SparkSession, method: str) -> Any:
    """The bound method; a look-up of it would be a call of its own."""
    known = vars(session).setdefault("_lakebed_sql_plans", {})
    if method not in known:
        known[method] = getattr(compiled(session, SQL_PLANS), method)
    return known[method]


def _plan(session: SparkSession, statement: Any) -> SqlPlan | None:
    if statement is None:
        return None
    return SqlPlan(session, orjson.loads(statement.describe()), statement)
