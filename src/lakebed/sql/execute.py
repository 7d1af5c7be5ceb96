"""Runs statements: which function runs which."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame

from lakebed.sql.context import SqlContext
from lakebed.sql.statement import Statement

RUNNERS: dict[type[Statement], Callable[[SqlContext, Any], DataFrame | None]] = {}
"""A runner gives what `spark.sql` returns; None leaves the statement to Spark, nothing done."""


def execute(context: SqlContext, statement: Statement) -> DataFrame | None:
    return RUNNERS[type(statement)](context, statement)
