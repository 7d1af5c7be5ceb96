"""What only the server knows of a script: its own errors of variables, and what gives rows.

Errors of Spark must be Spark's, with their conditions, so that handlers catch them. So a mistake is
shown to the server in a script of its own, which does nothing else.
"""

from __future__ import annotations

import re

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from lakebed.errors import SqlError
from lakebed.spark.sql_text import quoted
from lakebed.sql.cursor import Cursor
from lakebed.sql.immediate import parse_immediate
from lakebed.sql.parameters import with_names
from lakebed.sql.parse import parse_statement
from lakebed.sql.plain import plain_sql
from lakebed.sql.script.rows import type_text
from lakebed.sql.script.tree import Declare

_DROP = re.compile(r"DROP\s+TEMPORARY\s+VAR(IABLE)?\b", re.IGNORECASE)


def gives_rows(session: SparkSession, text: str) -> bool:
    """Whether a statement is a query. What commands give is dropped in scripts."""
    cursor = Cursor(text)
    if cursor.at("EXECUTE"):
        found = parse_immediate(text)
        if found is None or found.targets:
            return False
        inner = found.text
        if not found.is_string:
            inner = plain_sql(session, f"SELECT {inner}").collect()[0][0]
        return isinstance(inner, str) and not Cursor(inner).is_at_end and gives_rows(session, inner)
    if cursor.at_any("WITH", "FROM"):
        return parse_statement(with_names(text)) is None
    return cursor.at_symbol("(") or cursor.at_any("SELECT", "VALUES", "TABLE", "MAP", "REDUCE")


def is_true(session: SparkSession, frame: DataFrame, text: str) -> bool:
    """The value of a condition; NULL is false."""
    found = frame.toArrow()
    if not pa.types.is_boolean(found.schema.field(0).type):
        kind = type_text(frame.schema[0].dataType)
        plain_sql(session, f"BEGIN IF CAST(NULL AS {kind}) THEN SELECT 1; END IF; END")
        raise SqlError("a condition must be true or false", sql=text, position=0)
    return found.column(0)[0].as_py() is True


def refuse_declaration(session: SparkSession, declare: Declare) -> None:
    """Local variables have no other names before them, and are not replaced."""
    if declare.replaces or any(len(name) > 1 for name in declare.names):
        _show(session, declare.text.text, "a local variable cannot be declared like this")


def refuse_second(session: SparkSession, name: str) -> None:
    twice = f"DECLARE {quoted(name)} INT; DECLARE {quoted(name)} INT"
    _show(session, twice, f"the variable {name} is declared already")


def refuse_drop(session: SparkSession, text: str) -> None:
    if _DROP.match(text):
        _show(session, text, "a script cannot drop variables")


def _show(session: SparkSession, text: str, otherwise: str) -> None:
    plain_sql(session, f"BEGIN {text}; END")
    raise SqlError(otherwise, sql=text, position=0)
