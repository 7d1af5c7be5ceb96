"""Spark's rules for operands of different types (ANSI type coercion).

https://spark.apache.org/docs/latest/sql-ref-ansi-compliance.html#type-conversion is the overview.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal

from lakebed.errors import EvaluationError, PredicateError
from lakebed.expressions.casting import DIGITS, can_cast, cast
from lakebed.expressions.tree import (
    Arithmetic,
    Cast,
    Compare,
    Expression,
    Function,
    In,
    Literal,
    Or,
    decimal_type,
)
from lakebed.expressions.values import (
    FLOATING,
    INTEGRAL,
    TEMPORAL,
    is_atomic,
    is_numeric,
    to_literal,
    to_scalar,
)
from lakebed.spec.schema import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    DataType,
    DecimalType,
)


@dataclass(frozen=True)
class Term:
    """An expression and where it stands in the SQL. `char_length` is that of a `char(n)` column."""

    expression: Expression
    sql: str
    position: int
    char_length: int | None = None

    @property
    def data_type(self) -> DataType:
        return self.expression.data_type

    def become(self, expression: Expression) -> Term:
        return replace(self, expression=expression, char_length=None)

    def error(self, message: str, hint: str | None = None) -> PredicateError:
        return PredicateError(message, sql=self.sql, position=self.position, hint=hint)


# --- casts -------------------------------------------------------------------------------------


def cast_to(term: Term, data_type: DataType) -> Term:
    """The term cast to a type; constants are converted right away."""
    expression, source = term.expression, term.data_type
    if source == data_type:
        return term
    if not can_cast(source, data_type):
        raise term.error(f"a value of type {source} cannot be cast to {data_type}")
    if not isinstance(expression, Literal):
        return term.become(Cast(expression, data_type))
    try:
        converted = cast(to_scalar(expression), source, data_type)
    except EvaluationError as error:
        raise term.error(error.message) from error
    return term.become(to_literal(converted, data_type))


def to_condition(term: Term) -> Term:
    """The term as a condition; only booleans and null are conditions."""
    if term.data_type not in (BOOLEAN, VOID):
        raise term.error(
            f"expected a condition, found a value of type {term.data_type}",
            hint="Compare the value with something: a > 0, a IS NOT NULL.",
        )
    return cast_to(term, BOOLEAN)


def to_text(term: Term) -> Term:
    if term.data_type in FLOATING:
        raise term.error(f"a {term.data_type} has no single text that all engines agree on")
    return cast_to(term, STRING)


# --- common types ------------------------------------------------------------------------------


def common_type(left: DataType, right: DataType) -> DataType | None:
    """The type that holds values of both; None if Spark has none."""
    if left == right or right == VOID:
        return left
    if left == VOID:
        return right
    if STRING in (left, right):
        return _with_string(right if left == STRING else left)
    if is_numeric(left) and is_numeric(right):
        return _common_number(left, right)
    if left in TEMPORAL and right in TEMPORAL:
        return TIMESTAMP if TIMESTAMP in (left, right) else TIMESTAMP_NTZ
    return None


def unify(terms: list[Term], what: str) -> list[Term]:
    """The terms in their common type."""
    common: DataType = VOID
    # Spark looks at the strings first; they take the type of the next one.
    for term in sorted(terms, key=lambda each: each.data_type != STRING):
        wider = common_type(common, term.data_type)
        if wider is None:
            raise term.error(f"{what}: {common} and {term.data_type} have no common type")
        common = wider
    return [cast_to(term, common) for term in terms]


def _with_string(other: DataType) -> DataType | None:
    if other in INTEGRAL:
        return LONG
    if is_numeric(other):
        return DOUBLE
    return other if other in (BOOLEAN, BINARY, *TEMPORAL) else None


def _common_number(left: DataType, right: DataType) -> DataType:
    if left in INTEGRAL and right in INTEGRAL:
        return INTEGRAL[max(INTEGRAL.index(left), INTEGRAL.index(right))]
    if left in FLOATING or right in FLOATING:
        # A float would lose digits of integers and decimals.
        return FLOAT if left == right == FLOAT else DOUBLE
    first, second = as_decimal(left), as_decimal(right)
    scale = max(first.scale, second.scale)
    whole = max(first.precision - first.scale, second.precision - second.scale)
    return _bounded(whole + scale, scale)


def as_decimal(data_type: DataType) -> DecimalType:
    """The decimal type that holds all values of an integral or decimal type."""
    if isinstance(data_type, DecimalType):
        return data_type
    return DecimalType(DIGITS[str(data_type)], 0)


def _bounded(precision: int, scale: int) -> DecimalType:
    """Too many digits: give up those after the point first."""
    excess = max(0, precision - 38)
    return DecimalType(min(precision, 38), max(0, scale - excess))


# --- comparisons -------------------------------------------------------------------------------


def comparison(operator: str, left: Term, right: Term, at: Term) -> Expression:
    """A comparison whose sides have one type, or are both decimals."""
    left, right = _comparable(operator, left, right, at)
    return Compare(operator, left.expression, right.expression)


def membership(operand: Term, options: list[Term], at: Term) -> Expression:
    """`operand IN (options)`."""
    padded = [_padded(option, operand) for option in options]
    terms = [operand, *padded]
    for term in terms:
        _require_atomic(term)
    if any(isinstance(term.data_type, DecimalType) for term in terms) and _too_wide(terms):
        return Or(tuple(comparison("=", operand, option, at) for option in padded))
    first, *rest = [term.expression for term in unify(terms, "IN")]
    return In(first, tuple(rest))


def _comparable(operator: str, left: Term, right: Term, at: Term) -> tuple[Term, Term]:
    left, right = _padded(left, right), _padded(right, left)
    _require_atomic(left)
    _require_atomic(right)
    common = common_type(left.data_type, right.data_type)
    if common is None:
        raise at.error(
            f"{left.data_type} {operator} {right.data_type}: these types cannot be compared",
            hint="Cast one of the sides.",
        )
    if isinstance(common, DecimalType):
        # Decimals are compared as they are: a common type may not have all their digits.
        return _exact_decimal(left), _exact_decimal(right)
    return cast_to(left, common), cast_to(right, common)


def _exact_decimal(term: Term) -> Term:
    return cast_to(term, as_decimal(term.data_type)) if term.data_type in INTEGRAL else term


def _too_wide(terms: list[Term]) -> bool:
    if not all(is_numeric(term.data_type) and term.data_type not in FLOATING for term in terms):
        return False
    types = [as_decimal(term.data_type) for term in terms]
    scale = max(each.scale for each in types)
    return max(each.precision - each.scale for each in types) + scale > 38


def _padded(term: Term, other: Term) -> Term:
    """Text compared with a `char(n)` column is padded with blanks, as the column's values are."""
    if other.char_length is None or not isinstance(term.expression, Literal):
        return term
    if term.data_type != STRING or term.expression.value is None:
        return term
    return term.become(Literal(term.expression.value.ljust(other.char_length), STRING))


def _require_atomic(term: Term) -> None:
    if not is_atomic(term.data_type):
        raise term.error(
            f"values of type {term.data_type} cannot be compared",
            hint="Only IS NULL and IS NOT NULL work on such a column.",
        )


# --- arithmetic --------------------------------------------------------------------------------


def arithmetic(operator: str, left: Term, right: Term, at: Term) -> Expression:
    types = (left.data_type, right.data_type)
    if types[0] == DATE and types[1] in INTEGRAL[:3] and operator in ("+", "-"):
        name = "date_add" if operator == "+" else "date_sub"
        return Function(name, (left.expression, cast_to(right, INTEGER).expression), DATE)
    if types == (VOID, VOID):
        left = cast_to(left, DOUBLE)
    common = None if types == (STRING, STRING) else common_type(left.data_type, right.data_type)
    if common is None or not is_numeric(common):
        hint = "date_add(date, days) moves a date." if DATE in types else "Cast the sides."
        raise at.error(f"{types[0]} {operator} {types[1]}: these are not numbers", hint=hint)
    if operator == "div":
        return _integral_division(left, right, common, at)
    if isinstance(common, DecimalType):
        return _decimal_arithmetic(operator, left, right)
    result = DOUBLE if operator == "/" else common
    sides = (cast_to(left, result).expression, cast_to(right, result).expression)
    return Arithmetic(operator, *sides, result)


def _integral_division(left: Term, right: Term, common: DataType, at: Term) -> Expression:
    if common not in INTEGRAL:
        raise at.error("div takes whole numbers only", hint="Use / instead, or cast to BIGINT.")
    sides = (cast_to(left, LONG).expression, cast_to(right, LONG).expression)
    return Arithmetic("div", *sides, LONG)


def _decimal_arithmetic(operator: str, left: Term, right: Term) -> Expression:
    left, right = _small_decimal(left, right), _small_decimal(right, left)
    first, second = as_decimal(left.data_type), as_decimal(right.data_type)
    result = decimal_result(operator, first, second)
    sides = (cast_to(left, first).expression, cast_to(right, second).expression)
    return Arithmetic(operator, *sides, result)


def _small_decimal(term: Term, other: Term) -> Term:
    """Null takes the other's type; an integral constant only as many digits as it has."""
    if term.data_type == VOID:
        return cast_to(term, as_decimal(other.data_type))
    expression = term.expression
    if not isinstance(expression, Literal) or term.data_type not in INTEGRAL:
        return term
    return cast_to(term, decimal_type(Decimal(expression.value or 0)))


def decimal_result(operator: str, left: DecimalType, right: DecimalType) -> DecimalType:
    """The type of the result; too many digits take away from the scale, but not below 6."""
    scale = max(left.scale, right.scale)
    whole = (left.precision - left.scale, right.precision - right.scale)
    if operator in ("+", "-"):
        return _adjusted(max(whole) + scale + 1, scale)
    if operator == "*":
        return _adjusted(left.precision + right.precision + 1, left.scale + right.scale)
    if operator == "/":
        digits = max(6, left.scale + right.precision + 1)
        return _adjusted(whole[0] + right.scale + digits, digits)
    return _adjusted(min(whole) + scale, scale)


def _adjusted(precision: int, scale: int) -> DecimalType:
    if precision <= 38:
        return DecimalType(max(precision, 1), scale)
    return DecimalType(38, max(38 - (precision - scale), min(scale, 6)))
