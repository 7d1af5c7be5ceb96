"""Expressions as SQL text that `parse` reads back as the same expression."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from lakebed.expressions.tree import (
    And,
    Arithmetic,
    Case,
    Cast,
    Coalesce,
    Column,
    Compare,
    Expression,
    Function,
    In,
    IsNotNull,
    IsNull,
    Like,
    Literal,
    Negate,
    Not,
    Opaque,
    Or,
    StartsWith,
    decimal_type,
)
from lakebed.spec.schema import DataType, DecimalType, Path, quote_name
from lakebed.spec.timestamps import format_date, format_local_timestamp


def to_sql(expression: Expression) -> str:
    """One line of SQL, with parentheses only where they are needed."""
    return _WRITERS[type(expression)](expression)


# --- operators ---------------------------------------------------------------------------------

# How strongly operators bind, as in the grammar; what is not listed never needs parentheses.
_OR, _AND, _NOT, _PREDICATE, _COMPARISON, _ADDITION, _MULTIPLICATION, _VALUE = range(1, 9)
_LEVELS: dict[type[Expression], int] = {
    Or: _OR,
    And: _AND,
    Not: _NOT,
    In: _PREDICATE,
    IsNull: _PREDICATE,
    IsNotNull: _PREDICATE,
    Like: _PREDICATE,
    Compare: _COMPARISON,
    Opaque: _OR,
}


def _level(expression: Expression) -> int:
    if isinstance(expression, Arithmetic):
        return _ADDITION if expression.operator in "+-" else _MULTIPLICATION
    return _LEVELS.get(type(expression), _VALUE)


def _operand(expression: Expression, least: int) -> str:
    text = to_sql(expression)
    return text if _level(expression) >= least else f"({text})"


def _and(node: And) -> str:
    return " AND ".join(_operand(each, _NOT) for each in node.operands)


def _or(node: Or) -> str:
    return " OR ".join(_operand(each, _AND) for each in node.operands)


def _not(node: Not) -> str:
    return f"NOT {_operand(node.operand, _NOT)}"


def _compare(node: Compare) -> str:
    left, right = _operand(node.left, _ADDITION), _operand(node.right, _ADDITION)
    return f"{left} {node.operator} {right}"


def _arithmetic(node: Arithmetic) -> str:
    level = _level(node)
    left, right = _operand(node.left, level), _operand(node.right, level + 1)
    return f"{left} {node.operator.upper()} {right}"


def _in(node: In) -> str:
    return f"{_operand(node.operand, _ADDITION)} IN ({_list(node.options)})"


def _is_null(node: IsNull) -> str:
    return f"{_operand(node.operand, _ADDITION)} IS NULL"


def _is_not_null(node: IsNotNull) -> str:
    return f"{_operand(node.operand, _ADDITION)} IS NOT NULL"


def _like(node: Like) -> str:
    escape = "" if node.escape == "\\" else f" ESCAPE {_quoted(node.escape)}"
    return f"{_operand(node.operand, _ADDITION)} LIKE {_quoted(node.pattern)}{escape}"


# --- values ------------------------------------------------------------------------------------

_RESERVED = re.compile(
    "AND|BETWEEN|CASE|DISTINCT|DIV|ELSE|END|FALSE|FROM|ILIKE|IN|INTERVAL|IS|LIKE|NOT|NULL|OR"
    "|REGEXP|RLIKE|SELECT|TABLE|THEN|TRUE|VALUES|WHEN|WITH",
    re.IGNORECASE,
)


def _column(node: Column) -> str:
    return _path(node.path)


def _path(path: Path) -> str:
    return ".".join(f"`{name}`" if _RESERVED.fullmatch(name) else quote_name(name) for name in path)


def _case(node: Case) -> str:
    branches = [f"WHEN {to_sql(when)} THEN {to_sql(then)}" for when, then in node.branches]
    otherwise = [] if node.otherwise is None else [f"ELSE {to_sql(node.otherwise)}"]
    return " ".join(["CASE", *branches, *otherwise, "END"])


def _list(expressions: tuple[Expression, ...]) -> str:
    return ", ".join(map(to_sql, expressions))


_WRITERS: dict[type[Expression], Callable[[Any], str]] = {
    Column: _column,
    Literal: lambda node: _literal(node.value, node.data_type),
    Compare: _compare,
    And: _and,
    Or: _or,
    Not: _not,
    In: _in,
    IsNull: _is_null,
    IsNotNull: _is_not_null,
    Like: _like,
    StartsWith: lambda node: f"startswith({to_sql(node.operand)}, {_quoted(node.prefix)})",
    Cast: lambda node: f"CAST({to_sql(node.operand)} AS {_type_name(node.data_type)})",
    Arithmetic: _arithmetic,
    Negate: lambda node: f"-({to_sql(node.operand)})",
    Case: _case,
    Coalesce: lambda node: f"coalesce({_list(node.operands)})",
    Function: lambda node: f"{node.name}({_list(node.arguments)})",
    Opaque: lambda node: node.sql,
}


# --- constants ---------------------------------------------------------------------------------


def _literal(value: Any, data_type: DataType) -> str:
    if value is None:
        return "NULL" if str(data_type) == "void" else f"CAST(NULL AS {_type_name(data_type)})"
    if isinstance(data_type, DecimalType):
        text = f"{value:f}" if data_type.scale else f"{value:f}BD"
        is_natural = decimal_type(value) == data_type
        return text if is_natural else f"CAST({text} AS {_type_name(data_type)})"
    if isinstance(value, float) and not math.isfinite(value):
        return f"CAST('{value}' AS {_type_name(data_type)})"
    return _CONSTANTS[str(data_type)](value)


_CONSTANTS: dict[str, Callable[[Any], str]] = {
    "boolean": lambda value: str(value).upper(),
    "byte": lambda value: f"{value}Y",
    "short": lambda value: f"{value}S",
    "integer": str,
    "long": lambda value: f"{value}L",
    "float": lambda value: f"{value!r}F",
    "double": lambda value: f"{value!r}D",
    "string": lambda value: _quoted(value),
    "binary": lambda value: f"X'{value.hex().upper()}'",
    "date": lambda value: f"DATE '{format_date(value)}'",
    "timestamp": lambda value: f"TIMESTAMP '{format_local_timestamp(value)}Z'",
    "timestamp_ntz": lambda value: f"TIMESTAMP_NTZ '{format_local_timestamp(value)}'",
}
_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}
_TYPE_NAMES = {"byte": "TINYINT", "short": "SMALLINT", "integer": "INT", "long": "BIGINT"}


def _quoted(text: str) -> str:
    return "'" + "".join(_ESCAPES.get(each, each) for each in text) + "'"


def _type_name(data_type: DataType) -> str:
    return _TYPE_NAMES.get(str(data_type), str(data_type).upper())
