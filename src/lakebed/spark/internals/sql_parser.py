"""SQL that Spark's parser parses: expressions of tables, and statements with parameters.

Variables such as `${env:HOME}` are not replaced. Tests are in
`test_table_expressions` and `test_sql_parameters`.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import orjson
from py4j.java_gateway import JavaClass
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.types import StructField, TimestampType

from lakebed.expressions.allowed import Parts
from lakebed.spark.internals.jvm import Jvm
from lakebed.spark.internals.startup.classes import load_classes

JavaExpression = Any


def parsed_column(session: SparkSession, sql: str) -> Column:
    return Column(_table_expressions(session).column(sql))


def parts_of(session: SparkSession, sql: str) -> Parts:
    found = orjson.loads(_table_expressions(session).parts(session._jsparkSession, sql))
    return Parts(
        [tuple(name) for name in found["functions"]],
        [tuple(name) for name in found["names"]],
        frozenset(found["replaced"]),
        found["others"],
    )


def expression_values(session: SparkSession, expressions: Sequence[JavaExpression]) -> list[Any]:
    """The values of expressions without columns, as Python objects."""
    utils: Any = Jvm.of(session)._class("org.apache.spark.sql.classic.ExpressionUtils")
    columns = [
        Column(utils.column(each)).alias(str(place)) for place, each in enumerate(expressions)
    ]
    frame = session.range(0, 1, 1, 1).select(*columns)
    row = frame.head()
    assert row is not None
    return [_zoned(value, field) for value, field in zip(row, frame.schema, strict=True)]


def bound_column(
    session: SparkSession,
    text: str,
    names: list[str | None],
    positions: list[int],
    values: list[JavaExpression],
) -> Column:
    """An expression that Spark parses, with values for its parameters."""
    found = _parameters(session).column(session._jsparkSession, text, names, positions, values)
    return Column(found)


def bound_query(
    session: SparkSession,
    text: str,
    names: list[str | None],
    positions: list[int],
    values: list[JavaExpression],
) -> DataFrame:
    found = _parameters(session).query(session._jsparkSession, text, names, positions, values)
    return DataFrame(found, session)


def _zoned(value: Any, field: StructField) -> Any:
    """Spark gives timestamps in the time zone of this process, without saying so."""
    is_instant = isinstance(field.dataType, TimestampType) and value is not None
    return value.astimezone() if is_instant else value


def _table_expressions(session: SparkSession) -> Any:
    gateway: Any = session.sparkContext._gateway
    known = vars(gateway)
    if _TABLE_EXPRESSIONS not in known:
        load_classes(gateway, str(session.version))
        found = JavaClass("lakebed.commands.TableExpressions", gateway._gateway_client)
        # py4j would look up a method each time.
        known[_TABLE_EXPRESSIONS] = SimpleNamespace(column=found.column, parts=found.parts)
    return known[_TABLE_EXPRESSIONS]


def _parameters(session: SparkSession) -> Any:
    gateway: Any = session.sparkContext._gateway
    return gateway.jvm.lakebed.parser.Parameters


_TABLE_EXPRESSIONS = "_lakebed_table_expressions"
