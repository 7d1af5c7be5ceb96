"""Columns in calls of clients of Spark Connect (see `TableCalls.java`)."""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column, DataFrame


def bound(column: Column, mark: str, frame: DataFrame) -> Column:
    """The column in which names such as `mark`.`0` are columns of a DataFrame by positions."""
    context: Any = frame.sparkSession.sparkContext
    made = context._jvm.lakebed.TableCalls.bound(column._jc, mark, frame._jdf)
    return Column(made)
