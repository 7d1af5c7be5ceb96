"""Values that the server computes, as literals of SQL: of the same type and to the last digit.

Times never become times of Python on their way, which would be those of the client's zone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession

from lakebed.errors import InvalidArgumentError
from lakebed.sql.parameters import literal
from lakebed.sql.plain import plain_sql

_PLAIN = ("int", "string", "boolean", "void", "binary")
"""Types whose literals say what they are."""
_NESTED = ("array<", "map<", "struct<")


def server_literals(session: SparkSession, expressions: Sequence[str]) -> list[str]:
    kinds = _row(session, [f"typeof({each})" for each in expressions])
    asked = [_asked(each, kind) for each, kind in zip(expressions, kinds, strict=True)]
    values = _row(session, asked)
    return [_literal(value, kind) for value, kind in zip(values, kinds, strict=True)]


def _row(session: SparkSession, expressions: Sequence[str]) -> tuple[Any, ...]:
    return tuple(plain_sql(session, f"SELECT {', '.join(expressions)}").collect()[0])


def _asked(expression: str, kind: str) -> str:
    if kind in (*_PLAIN, "bigint"):
        return expression
    if kind == "timestamp":
        return f"unix_micros({expression})"
    if not kind.startswith(_NESTED):
        return f"CAST({expression} AS STRING)"
    if "timestamp" in kind or "struct<" in kind:
        raise InvalidArgumentError(
            f"a value of the type {kind} cannot be given to a statement about Delta tables here",
            hint="write it into the text of the statement, or give its parts",
        )
    return expression


def _literal(value: Any, kind: str) -> str:
    if value is None:
        return "NULL" if kind == "void" else f"CAST(NULL AS {kind})"
    if kind in _PLAIN:
        return literal(value)
    if kind == "bigint" and value >= 0:
        return f"{value}L"
    if kind == "timestamp":
        return f"timestamp_micros({value})"
    return f"CAST({literal(value)} AS {kind})"
