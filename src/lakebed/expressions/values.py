"""Values between SQL, Python and Arrow: the Arrow type of a type, and literals as scalars."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import EvaluationError
from lakebed.expressions.tree import Literal
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
    VOID,
    DataType,
    DecimalType,
    PrimitiveType,
)

# An array of rows, or a scalar that stands for every row.
Datum = Any

INTEGRAL = (BYTE, SHORT, INTEGER, LONG)
FLOATING = (FLOAT, DOUBLE)
TEMPORAL = (DATE, TIMESTAMP, TIMESTAMP_NTZ)


def is_atomic(data_type: DataType) -> bool:
    """Whether values of the type can be compared and computed with."""
    return isinstance(data_type, DecimalType) or (
        isinstance(data_type, PrimitiveType) and data_type.name in _ARROW
    )


def is_numeric(data_type: DataType) -> bool:
    return data_type in (*INTEGRAL, *FLOATING) or isinstance(data_type, DecimalType)


def arrow_type(data_type: DataType) -> pa.DataType:
    """The Arrow type in which values of an atomic type are evaluated."""
    if isinstance(data_type, DecimalType):
        return pa.decimal128(data_type.precision, data_type.scale)
    found = _ARROW.get(data_type.name) if isinstance(data_type, PrimitiveType) else None
    if found is None:
        raise EvaluationError(f"values of type {data_type} cannot be evaluated")
    return found


def to_scalar(literal: Literal) -> pa.Scalar:
    try:
        return pa.scalar(literal.value, arrow_type(literal.data_type))
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise EvaluationError(
            f"{literal.value!r} is no value of type {literal.data_type}: {error}"
        ) from error


def to_literal(scalar: pa.Scalar, data_type: DataType) -> Literal:
    if not scalar.is_valid:
        return Literal(None, data_type)
    return Literal(scalar.value if data_type in TEMPORAL else scalar.as_py(), data_type)


def typed(values: pa.Array, data_type: DataType, what: str) -> pa.Array:
    """Values in the Arrow type of `data_type`, whichever of its Arrow types they have now."""
    wanted = arrow_type(data_type)
    if values.type == wanted:
        return values
    try:
        return pc.cast(values, wanted)
    except pa.ArrowException as error:
        raise EvaluationError(
            f"{what} is of type {data_type}, which the Arrow type {values.type} does not fit"
        ) from error


_ARROW = {
    STRING.name: pa.string(),
    LONG.name: pa.int64(),
    INTEGER.name: pa.int32(),
    SHORT.name: pa.int16(),
    BYTE.name: pa.int8(),
    FLOAT.name: pa.float32(),
    DOUBLE.name: pa.float64(),
    BOOLEAN.name: pa.bool_(),
    BINARY.name: pa.binary(),
    DATE.name: pa.date32(),
    TIMESTAMP.name: pa.timestamp("us", tz="UTC"),
    TIMESTAMP_NTZ.name: pa.timestamp("us"),
    VOID.name: pa.null(),
}
