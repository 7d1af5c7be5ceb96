"""SQL strings as Columns: those that users give to methods, and those in the metadata of tables.

Spark's `expr` replaces variables such as `${env:HOME}` before it parses a string. Here they are not
replaced. Expressions in the metadata of a table must also be allowed (`expressions.allowed`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession

from lakebed.errors import PredicateError
from lakebed.expressions.allowed import ExpressionKind, Parts, check_parts, parts_of_text
from lakebed.settings.setting_table import ALLOWED_FUNCTIONS, UNTRUSTED
from lakebed.spark.session.session_kind import functions_of, is_connect
from lakebed.spec.schema import StructType

_VARIABLE = "${"


def sql_column(owner: SparkSession | DataFrame, sql: str) -> Column:
    """An expression that a user gives as text, for DataFrames of the session."""
    session = _session(owner)
    if is_connect(session):
        # Its server parses the text.
        column: Column = functions_of(session).expr(sql)
        return column
    from lakebed.spark.internals.sql_parser import parsed_column

    return parsed_column(session, sql)


def table_expression(
    owner: SparkSession | DataFrame,
    sql: str,
    kind: ExpressionKind,
    where: str,
    columns: StructType | Sequence[str],
) -> Column:
    """An expression of a table's metadata; refused if it may do more than compute a value.

    `where` is the name of the constraint or column that has it, `columns` are what it can name.
    """
    check_expression(owner, sql, kind, where, columns)
    return sql_column(owner, sql)


def check_expression(
    owner: SparkSession | DataFrame,
    sql: str,
    kind: ExpressionKind,
    where: str,
    columns: StructType | Sequence[str],
) -> None:
    session = _session(owner)
    names = columns.names if isinstance(columns, StructType) else columns
    check_parts(_parts(session, sql), sql, kind, where, names, _also(session))


def _also(session: SparkSession) -> Sequence[str]:
    return () if UNTRUSTED.of(session) else ALLOWED_FUNCTIONS.of(session)


def _parts(session: Any, sql: str) -> Parts:
    if not is_connect(session):
        from lakebed.spark.internals.sql_parser import parts_of

        return parts_of(session, sql)
    if _VARIABLE in sql:
        return Parts(others=[f"{_VARIABLE}, which Spark would replace by a variable"])
    try:
        return parts_of_text(sql)
    except PredicateError:
        # Spark says what is wrong with it.
        return Parts()


def _session(owner: SparkSession | DataFrame) -> SparkSession:
    return owner.sparkSession if hasattr(owner, "sparkSession") else owner
