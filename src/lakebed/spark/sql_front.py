"""Delta tables in what Spark analyses by itself: scripts, functions of SQL, EXECUTE IMMEDIATE.

Spark's analyser and parser call Python for them; `internals/SqlRules.java` says when.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import Any, Protocol

import orjson
from pyspark.sql import DataFrame, SparkSession

from lakebed.spark.failures import reported_to
from lakebed.spark.internals.jvm import JavaObject, Jvm
from lakebed.spark.internals.sql_plans import is_available
from lakebed.spark.internals.sql_rules import install_rules, java_frame, session_of


class Front(Protocol):
    """What the front end of SQL does for statements that Spark hands to it."""

    def read(self, session: SparkSession, reference: Any) -> DataFrame:
        """A table, told as `SqlPlans.java` tells it."""

    def bind(self, request: Any) -> str:
        """A text with its parameters filled in: `names` of some and `values` of all, as SQL."""

    def claims(self, session: SparkSession, text: str) -> bool:
        """Whether a statement is about Delta tables, and not for Spark to run."""

    def run(self, session: SparkSession, text: str) -> DataFrame | None:
        """Runs a statement; None if it is for Spark after all, and nothing was done."""


def install_front(session: SparkSession, front: Front, words: Collection[str]) -> None:
    """Once for a session; copies of it have it too. `words` are those that statements begin with.

    A session whose internals are not as expected stays as it is, and a warning is logged.
    """
    if not is_available(session):
        return
    try:
        install_rules(session, _Callback(session, front), words)
    except Exception:  # noqa: BLE001 - the compiler may fail in any way
        _LOG.warning(
            "Lakebed cannot add its rules to Spark's analyser: scripts, functions of SQL and "
            "EXECUTE IMMEDIATE cannot name Delta tables",
            exc_info=True,
        )


_LOG = logging.getLogger("lakebed")


class _Callback:
    """Called by Java, with one request and the session that it is about."""

    def __init__(self, session: SparkSession, front: Front) -> None:
        self._session = session
        self._front = front

    def apply(self, request: str, about: JavaObject) -> Any:
        with reported_to(Jvm.of(self._session)):
            session = session_of(self._session, about)
            ((what, value),) = orjson.loads(request).items()
            if what == "bind":
                return self._front.bind(value)
            if what == "claims":
                return self._front.claims(session, value)
            if what == "read":
                return java_frame(self._front.read(session, orjson.loads(value)))
            return java_frame(self._front.run(session, value))

    def toString(self) -> str:
        return "Lakebed's front end of SQL"

    class Java:
        implements = ("java.util.function.BiFunction",)
