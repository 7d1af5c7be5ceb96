"""Spark's own `spark.sql`, past Lakebed's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from lakebed.spark.functions import is_connect
from lakebed.sql.parameters import Arguments


def plain_sql(
    session: SparkSession,
    text: str,
    args: Arguments = None,
    frames: Mapping[str, DataFrame] | None = None,
) -> DataFrame:
    """With `frames` the text is a format, in which each of them has a name in braces."""
    given: Any = dict(args) if isinstance(args, Mapping) else list(args) if args else None
    # Late, because each kind of session needs what the other has not.
    if is_connect(session):
        from lakebed.spark.internals import connect

        return connect.plain_sql(session, text, given, frames or {})
    from lakebed.spark.internals import jvm

    return jvm.plain_sql(session, text, given, frames or {})
