"""Arithmetic on random numbers, against Python's own."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import EvaluationError
from lakebed.expressions.coercion import decimal_result
from lakebed.expressions.evaluator.arithmetic import calculate
from lakebed.expressions.values import arrow_type
from lakebed.spec.schema import DOUBLE, INTEGER, LONG, DataType, DecimalType

EXACT = Context(prec=120)


def outcome(operator: str, left: Any, right: Any, kind: DataType, result: DataType) -> Any:
    """The value, or "error"; the rows around it must not matter."""
    lefts, rights = pa.array([1, left, None], arrow_type(kind)), pa.array([1, right, 0])
    try:
        found = calculate(operator, lefts, rights.cast(arrow_type(kind)), result)
    except EvaluationError:
        return "error"
    assert found.type == arrow_type(result)
    assert found[2].as_py() is None
    return found[1].as_py()


@given(
    st.sampled_from(["+", "-", "*", "div", "%"]),
    st.integers(-(2**63), 2**63 - 1),
    st.one_of(st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1)),
)
def test_integers_are_exact_or_an_error(operator: str, left: int, right: int) -> None:
    found = outcome(operator, left, right, LONG, LONG)
    if operator in ("div", "%") and right == 0:
        assert found == "error"
        return
    expected = {
        "+": lambda: left + right,
        "-": lambda: left - right,
        "*": lambda: left * right,
        "div": lambda: abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1),
        "%": lambda: int(math.copysign(1, left)) * (abs(left) % abs(right)),
    }[operator]()
    assert found == (expected if -(2**63) <= expected < 2**63 else "error")


@given(st.sampled_from(["+", "-", "*", "/", "%"]), st.floats(), st.floats())
def test_doubles_follow_ieee_754_except_for_division_by_zero(
    operator: str, left: float, right: float
) -> None:
    found = outcome(operator, left, right, DOUBLE, DOUBLE)
    if operator in ("/", "%") and right == 0:
        assert found == "error"
        return
    if operator == "%" and (math.isinf(left) or left != left or right != right):
        assert found != found
        return
    expected = {
        "+": lambda: left + right,
        "-": lambda: left - right,
        "*": lambda: left * right,
        "/": lambda: left / right,
        "%": lambda: math.fmod(left, right),
    }[operator]()
    assert found == expected or (found != found and expected != expected)


@st.composite
def decimals(draw: st.DrawFn) -> tuple[Decimal, DecimalType]:
    precision = draw(st.integers(1, 38))
    scale = draw(st.integers(0, precision))
    digits = draw(st.integers(-(10**precision) + 1, 10**precision - 1))
    return EXACT.scaleb(Decimal(digits), -scale), DecimalType(precision, scale)


@given(st.sampled_from(["+", "-", "*", "/", "%"]), decimals(), decimals())
def test_decimals_are_exact_to_the_scale_of_the_result(
    operator: str, left: tuple[Decimal, DecimalType], right: tuple[Decimal, DecimalType]
) -> None:
    result = decimal_result(operator, left[1], right[1])
    lefts = pa.array([left[0], None], arrow_type(left[1]))
    rights = pa.scalar(right[0], arrow_type(right[1]))
    if operator in ("/", "%") and right[0] == 0:
        with pytest.raises(EvaluationError, match="division by zero"):
            calculate(operator, lefts, rights, result)
        return
    apply = {"+": EXACT.add, "-": EXACT.subtract, "*": EXACT.multiply, "/": EXACT.divide}
    exact = apply.get(operator, EXACT.remainder)(left[0], right[0])
    unit = Decimal(1).scaleb(-result.scale)
    expected = exact.quantize(unit, rounding=ROUND_HALF_UP, context=EXACT)
    if abs(expected) >= Decimal(10) ** (result.precision - result.scale):
        with pytest.raises(EvaluationError):
            calculate(operator, lefts, rights, result)
    else:
        assert calculate(operator, lefts, rights, result).to_pylist() == [expected, None]


def test_an_overflow_names_the_values_of_its_row() -> None:
    left = pa.array([1, 2, 2**31 - 1, 4], pa.int32())
    with pytest.raises(EvaluationError, match=r"overflow: 2147483647 \+ 7 does not fit integer"):
        calculate("+", left, pa.array([1, 2, 7, 4], pa.int32()), INTEGER)
