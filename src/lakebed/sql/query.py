"""Queries, and commands that have queries in them, over Delta tables by name and by path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession

from lakebed.spark.functions import is_connect
from lakebed.sql.parameters import Arguments
from lakebed.sql.plain import plain_sql


def query_frame(session: SparkSession, text: str, args: Arguments = None) -> DataFrame:
    """What a query gives; there need not be a Delta table in it."""
    found = delta_query(session, text, args)
    return plain_sql(session, text, args) if found is None else found


def delta_query(session: SparkSession, text: str, args: Arguments = None) -> DataFrame | None:
    """The same; None if the text names no Delta table, and nothing is done."""
    return _way(session).delta_query(session, text, args)


def delta_table(session: SparkSession, name: str, options: Mapping[str, str]) -> DataFrame | None:
    """A Delta table, or a view over some, by name; None if the name is neither."""
    return _way(session).delta_table(session, name, options)


def any_query(session: SparkSession, text: str) -> DataFrame | None:
    """What any statement gives that is left to Spark; None if Spark itself is to be asked."""
    if _DELTA in text.lower():
        # Spark may need to know Lakebed's data source.
        return delta_query(session, text)
    return _way(session).any_query(session, text)


_DELTA = "delta"


class _Way(Protocol):
    def any_query(self, session: SparkSession, text: str) -> DataFrame | None: ...

    def delta_query(
        self, session: SparkSession, text: str, args: Arguments
    ) -> DataFrame | None: ...

    def delta_table(
        self, session: SparkSession, name: str, options: Mapping[str, str]
    ) -> DataFrame | None: ...


def _way(session: SparkSession) -> _Way:
    # Late, because each kind of session needs what the other has not.
    if not is_connect(session):
        from lakebed.spark.internals.sql_plans import is_available
        from lakebed.sql import classic_query

        if is_available(session):
            return classic_query
    from lakebed.sql import text_query

    return text_query
