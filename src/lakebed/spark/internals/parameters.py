"""Values of the parameters of statements, which Spark has as expressions.

Tests are in `test_sql_parameters`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.types import StructField, TimestampType

from lakebed.spark.internals.jvm import Jvm

JavaExpression = Any


def expression_values(session: SparkSession, expressions: Sequence[JavaExpression]) -> list[Any]:
    """The values of expressions without columns, as Python has them."""
    utils: Any = Jvm.of(session)._class("org.apache.spark.sql.classic.ExpressionUtils")
    columns = [
        Column(utils.column(each)).alias(str(place)) for place, each in enumerate(expressions)
    ]
    frame = session.range(0, 1, 1, 1).select(*columns)
    row = frame.head()
    assert row is not None
    return [_zoned(value, field) for value, field in zip(row, frame.schema, strict=True)]


def _zoned(value: Any, field: StructField) -> Any:
    """Spark gives timestamps in the time zone of this process, without saying so."""
    is_instant = isinstance(field.dataType, TimestampType) and value is not None
    return value.astimezone() if is_instant else value


def bound_column(
    session: SparkSession,
    text: str,
    names: list[str | None],
    positions: list[int],
    values: list[JavaExpression],
) -> Column:
    """An expression that Spark parses, with values in the place of its markers."""
    found = _java(session).column(session._jsparkSession, text, names, positions, values)
    return Column(found)


def bound_query(
    session: SparkSession,
    text: str,
    names: list[str | None],
    positions: list[int],
    values: list[JavaExpression],
) -> DataFrame:
    found = _java(session).query(session._jsparkSession, text, names, positions, values)
    return DataFrame(found, session)


def _java(session: SparkSession) -> Any:
    gateway: Any = session.sparkContext._gateway
    return gateway.jvm.lakebed.Parameters
