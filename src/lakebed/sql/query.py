"""Queries in Lakebed's own statements, over Delta tables by name and by path."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from lakebed.spark.functions import is_connect
from lakebed.sql import text_query
from lakebed.sql.parameters import Arguments
from lakebed.sql.plain import plain_sql


def query_frame(session: SparkSession, text: str, args: Arguments = None) -> DataFrame:
    """What a query gives. Classic sessions know Delta tables by themselves."""
    found = delta_query(session, text, args) if is_connect(session) else None
    return plain_sql(session, text, args) if found is None else found


def delta_query(session: SparkSession, text: str, args: Arguments = None) -> DataFrame | None:
    """On Spark Connect; None if the text names no Delta table, and nothing is done."""
    return text_query.delta_query(session, text, args)


def delta_table(session: SparkSession, name: str, options: Mapping[str, str]) -> DataFrame | None:
    """A Delta table, or a view over some, by name; None if the name is neither."""
    return text_query.delta_table(session, name, options)


def any_query(session: SparkSession, text: str) -> DataFrame | None:
    """What any statement gives that is left to Spark; None if Spark itself is to be asked."""
    if _DELTA in text.lower():
        # Spark may need to know Lakebed's data source.
        return delta_query(session, text)
    return text_query.any_query(session, text)


_DELTA = "delta"
