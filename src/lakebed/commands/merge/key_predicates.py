"""Which rows of the target the keys of a source can match, as a predicate on the target."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from lakebed.expressions import And, Compare, Expression, In, Literal
from lakebed.expressions import Column as TableColumn
from lakebed.spec.schema import (
    BYTE,
    DATE,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    DecimalType,
    StructField,
)

MOST_VALUES = 1000
"""Of so many rows all values are compared, of more their bounds."""


def all_of(tests: Sequence[Expression]) -> Expression | None:
    if not tests:
        return None
    return tests[0] if len(tests) == 1 else And(tuple(tests))


def among(field: StructField, values: Iterable[pa.Scalar]) -> list[Expression]:
    literals = tuple(_literal(each, field.data_type) for each in values if each.is_valid)
    if not literals:
        return []
    return [In(TableColumn((field.name,), field.data_type), literals)]


def between(field: StructField, bounds: Sequence[pa.Scalar]) -> list[Expression]:
    low, high = bounds
    if not low.is_valid or not high.is_valid:
        return []
    column = TableColumn((field.name,), field.data_type)
    return [
        Compare(">=", column, _literal(low, field.data_type)),
        Compare("<=", column, _literal(high, field.data_type)),
    ]


def has_order(data_type: DataType) -> bool:
    """Types whose order is that of the statistics, which NaN is not part of."""
    return data_type in _ORDERED or isinstance(data_type, DecimalType)


def _literal(value: pa.Scalar, data_type: DataType) -> Literal:
    """Dates are days and timestamps microseconds, as in literals of predicates."""
    if pa.types.is_timestamp(value.type):
        value = value.cast(pa.timestamp("us", tz=value.type.tz))
    is_temporal = pa.types.is_temporal(value.type)
    return Literal(value.value if is_temporal else value.as_py(), data_type)


_ORDERED = (BYTE, SHORT, INTEGER, LONG, STRING, DATE, TIMESTAMP, TIMESTAMP_NTZ)
