"""Arithmetic with the results and the errors of Spark's ANSI mode."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import EvaluationError
from lakebed.expressions.casting import fit_decimal
from lakebed.expressions.string_casts import round_decimal
from lakebed.expressions.values import Datum, arrow_type, is_numeric
from lakebed.spec.schema import DataType, DecimalType


def calculate(operator: str, left: Datum, right: Datum, result: DataType) -> Datum:
    """Both sides are of one numeric type, or both are decimals and `result` is one."""
    if isinstance(left, pa.Scalar) and isinstance(right, pa.Scalar):
        return calculate(operator, pa.repeat(left, 1), right, result)[0]
    if operator in ("/", "%", "div"):
        right = _without_zeros(operator, left, right)
    if isinstance(result, DecimalType):
        return _calculate_decimals(operator, left, right, result)
    kind = "floating" if pa.types.is_floating(left.type) else "whole"
    return _checked(_KERNELS[kind, operator], operator, left, right, result)


def negate(values: Datum, data_type: DataType) -> Datum:
    return _checked_unary(pc.negate_checked, "-", values, data_type)


def absolute(values: Datum, data_type: DataType) -> Datum:
    return _checked_unary(pc.abs_checked, "abs", values, data_type)


# --- numbers -----------------------------------------------------------------------------------


def _remainder(left: Datum, right: Datum) -> Datum:
    # The smallest number divided by -1 would overflow; the remainder is 0 for 1 as well.
    minus_one = pc.equal(right, pa.scalar(-1, right.type))
    divisor = pc.if_else(minus_one, pa.scalar(1, right.type), right)
    return pc.subtract(left, pc.multiply(pc.divide(left, divisor), divisor))


def _floating_remainder(left: Datum, right: Datum) -> Datum:
    return _row_by_row(_fmod, left, right, left.type)


def _fmod(left: float, right: float) -> float:
    return math.nan if math.isinf(left) else math.fmod(left, right)


_KERNELS: dict[tuple[str, str], Callable[[Datum, Datum], Datum]] = {
    ("whole", "+"): pc.add_checked,
    ("whole", "-"): pc.subtract_checked,
    ("whole", "*"): pc.multiply_checked,
    ("whole", "div"): pc.divide_checked,
    ("whole", "%"): _remainder,
    ("floating", "+"): pc.add,
    ("floating", "-"): pc.subtract,
    ("floating", "*"): pc.multiply,
    ("floating", "/"): pc.divide,
    ("floating", "%"): _floating_remainder,
}


# --- decimals ----------------------------------------------------------------------------------


def _calculate_decimals(operator: str, left: Datum, right: Datum, result: DecimalType) -> Datum:
    wide = _wide_result(operator, left.type, right.type)
    if wide is None:
        return _decimals_row_by_row(operator, left, right, result)
    left = pc.cast(left, pa.decimal256(left.type.precision, left.type.scale))
    right = pc.cast(right, pa.decimal256(right.type.precision, right.type.scale))
    return fit_decimal(_DECIMAL_KERNELS[operator](left, right), result)


def _wide_result(operator: str, left: pa.DataType, right: pa.DataType) -> int | None:
    """The precision of Arrow's exact result; None if Arrow has none."""
    if operator == "*":
        precision = left.precision + right.precision + 1
    elif operator in "+-":
        whole = max(left.precision - left.scale, right.precision - right.scale)
        precision = whole + max(left.scale, right.scale) + 1
    else:
        return None
    return precision if precision <= 76 else None


def _decimals_row_by_row(operator: str, left: Datum, right: Datum, result: DecimalType) -> Datum:
    exact = _EXACT[operator]

    def convert(first: Decimal, second: Decimal) -> Decimal:
        rounded = round_decimal(exact(first, second), result)
        if rounded is None:
            raise _overflow(operator, first, second, result)
        return rounded

    return _row_by_row(convert, left, right, arrow_type(result))


_CONTEXT = Context(prec=120)
_EXACT: dict[str, Callable[[Decimal, Decimal], Decimal]] = {
    "+": _CONTEXT.add,
    "-": _CONTEXT.subtract,
    "*": _CONTEXT.multiply,
    "/": _CONTEXT.divide,
    "%": _CONTEXT.remainder,
}
_DECIMAL_KERNELS = {"+": pc.add, "-": pc.subtract, "*": pc.multiply}


# --- errors ------------------------------------------------------------------------------------


def _without_zeros(operator: str, left: Datum, right: Datum) -> Datum:
    """The divisor, null where it is 0. A row that would be divided by 0 is an error."""
    is_zero = pc.equal(right, pa.scalar(0, right.type))
    if pc.any(pc.and_(is_zero, pc.is_valid(left))).as_py():
        raise EvaluationError(
            f"division by zero in {operator!r}",
            hint="Exclude such rows first: b <> 0 AND a / b > 1, or divide by nullif(b, 0).",
        )
    return pc.if_else(is_zero, pa.scalar(None, right.type), right)


def _checked(
    kernel: Callable[[Datum, Datum], Datum],
    operator: str,
    left: Datum,
    right: Datum,
    result: DataType,
) -> Datum:
    try:
        return kernel(left, right)
    except pa.ArrowInvalid as error:
        first, second = _culprits(kernel, left, right)
        raise _overflow(operator, first, second, result) from error


def _checked_unary(
    kernel: Callable[[Datum], Datum], name: str, values: Datum, data_type: DataType
) -> Datum:
    assert is_numeric(data_type)
    try:
        return kernel(values)
    except pa.ArrowInvalid as error:
        lowest = pc.min(values) if isinstance(values, pa.Array) else values
        raise EvaluationError(
            f"overflow: {name}({lowest.as_py()}) is no {data_type}",
            hint="Cast to a wider type first.",
        ) from error


def _culprits(kernel: Callable[[Datum, Datum], Datum], left: Datum, right: Datum) -> list[Any]:
    """The values of a row that the kernel fails on, found by halving."""
    sides = [left, right]
    length = max(len(each) for each in sides if isinstance(each, pa.Array))
    while length > 1:
        halves = [_slice(each, 0, length // 2) for each in sides]
        try:
            kernel(*halves)
        except pa.ArrowInvalid:
            sides, length = halves, length // 2
        else:
            sides = [_slice(each, length // 2, length) for each in sides]
            length -= length // 2
    return [(each[0] if isinstance(each, pa.Array) else each).as_py() for each in sides]


def _slice(values: Datum, start: int, stop: int) -> Datum:
    return values.slice(start, stop - start) if isinstance(values, pa.Array) else values


def _overflow(operator: str, left: Any, right: Any, result: DataType) -> EvaluationError:
    return EvaluationError(
        f"overflow: {left} {operator} {right} does not fit {result}",
        hint="Cast one side to a wider type first.",
    )


def _row_by_row(
    function: Callable[[Any, Any], Any], left: Datum, right: Datum, result: pa.DataType
) -> pa.Array:
    length = max(len(each) for each in (left, right) if isinstance(each, pa.Array))
    rows = zip(_rows(left, length), _rows(right, length), strict=True)
    return pa.array([None if a is None or b is None else function(a, b) for a, b in rows], result)


def _rows(values: Datum, length: int) -> list[Any]:
    rows: list[Any] = (
        [values.as_py()] * length if isinstance(values, pa.Scalar) else values.to_pylist()
    )
    return rows
