"""Filters that Spark pushes to a Python data source, as expressions that skip files.

Spark 4.1 and newer. It evaluates all of them again, so what is not understood is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from lakebed.expressions import (
    Column,
    Compare,
    Expression,
    In,
    IsNotNull,
    IsNull,
    Literal,
    Not,
    StartsWith,
    conjunction,
)
from lakebed.spec.column_metadata import collations
from lakebed.spec.schema import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    DecimalType,
    StructField,
    StructType,
)


def skipping_condition(filters: Sequence[Any], schema: StructType) -> Expression | None:
    """What all rows of the result meet, as far as it is understood."""
    found = [_expression(each, schema) for each in filters]
    known = [each for each in found if each is not None]
    return conjunction(known) if known else None


def _expression(pushed: Any, schema: StructType) -> Expression | None:
    """Filters are told by the names of their classes: Spark 4.0 has none of them."""
    kind = type(pushed).__name__
    if kind == "Not":
        operand = _expression(pushed.child, schema)
        return None if operand is None else Not(operand)
    field = _field(pushed.attribute, schema)
    if field is None:
        return None
    column = Column(_spelled(pushed.attribute, schema), field.data_type)
    if kind in _NULL_CHECKS:
        return _NULL_CHECKS[kind](column)
    if not _has_plain_order(field):
        return None
    if kind in _OPERATORS:
        value = _literal(pushed.value, field.data_type)
        return None if value is None else Compare(_OPERATORS[kind], column, value)
    if kind == "In":
        options = [_literal(each, field.data_type) for each in pushed.value]
        known = tuple(each for each in options if each is not None)
        return In(column, known) if known and len(known) == len(options) else None
    if kind == "StringStartsWith" and field.data_type == STRING:
        return StartsWith(column, pushed.value)
    return None


def _field(path: Sequence[str], schema: StructType) -> StructField | None:
    inside: DataType = schema
    field: StructField | None = None
    for name in path:
        field = inside.find(name) if isinstance(inside, StructType) else None
        if field is None:
            return None
        inside = field.data_type
    return field


def _spelled(path: Sequence[str], schema: StructType) -> tuple[str, ...]:
    """The names as the table spells them."""
    found = (_field(path[: depth + 1], schema) for depth in range(len(path)))
    return tuple(field.name for field in found if field is not None)


def _has_plain_order(field: StructField) -> bool:
    """Collated texts have an order of their own."""
    return all(name.upper().endswith("UTF8_BINARY") for name in collations(field).values())


def _literal(value: Any, data_type: DataType) -> Literal | None:
    """None for a value that is not of the type of its column."""
    if value is None:
        return Literal(None, data_type)
    if isinstance(data_type, DecimalType):
        is_number = isinstance(value, Decimal | int) and not isinstance(value, bool)
        return Literal(Decimal(value), data_type) if is_number else None
    if data_type == DATE and type(value) is date:
        return Literal((value - date(1970, 1, 1)).days, DATE)
    if data_type in (TIMESTAMP, TIMESTAMP_NTZ) and isinstance(value, datetime):
        return _moment(value, data_type)
    expected = _PYTHON.get(str(data_type))
    return Literal(value, data_type) if expected is not None and type(value) is expected else None


def _moment(value: datetime, data_type: DataType) -> Literal | None:
    if (value.tzinfo is None) is not (data_type == TIMESTAMP_NTZ):
        return None
    origin = datetime(1970, 1, 1, tzinfo=None if value.tzinfo is None else timezone.utc)
    return Literal((value - origin) // timedelta(microseconds=1), data_type)


_OPERATORS = {
    "EqualTo": "=",
    "EqualNullSafe": "<=>",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
}
_NULL_CHECKS = {"IsNull": IsNull, "IsNotNull": IsNotNull}
_PYTHON: dict[str, type] = {
    **{str(kind): int for kind in (BYTE, SHORT, INTEGER, LONG)},
    **{str(kind): float for kind in (FLOAT, DOUBLE)},
    str(STRING): str,
    str(BINARY): bytes,
    str(BOOLEAN): bool,
}
