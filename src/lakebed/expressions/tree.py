"""Predicates and other SQL expressions as values, with every column resolved and every node typed.

The nodes say what Spark's expressions of the same names say. Types are those of `spec.schema`, and
the two sides of a node have types that go together: whoever builds a tree inserts the casts, as
`parse` does by Spark's rules and as Catalyst has done before it hands a tree over.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from lakebed.errors import InvalidArgumentError
from lakebed.spec.schema import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    DataType,
    DecimalType,
    Path,
    StructType,
)

COMPARISONS = ("=", "<>", "<", "<=", ">", ">=", "<=>")
ARITHMETIC = ("+", "-", "*", "/", "%", "div")


class Expression:
    """The root of all nodes. `children` are the operands, in the order in which SQL has them."""

    if TYPE_CHECKING:

        @property
        def data_type(self) -> DataType: ...

    @property
    def children(self) -> tuple[Expression, ...]:
        return ()


class Condition(Expression):
    """An expression that is true, false or null."""

    @property
    def data_type(self) -> DataType:
        return BOOLEAN


@dataclass(frozen=True)
class Column(Expression):
    """A column, or a field inside a struct column, under its logical names."""

    path: Path
    data_type: DataType


@dataclass(frozen=True)
class Literal(Expression):
    """A constant. Dates are days and timestamps microseconds since 1970, as Arrow has them."""

    value: Any
    data_type: DataType

    def __post_init__(self) -> None:
        if isinstance(self.value, float) and math.isnan(self.value):
            # One object for all NaNs makes literals equal where Spark says that they are.
            object.__setattr__(self, "value", math.nan)


@dataclass(frozen=True)
class Compare(Condition):
    """`operator` is one of `COMPARISONS`; both sides have one type, or both are decimals."""

    operator: str
    left: Expression
    right: Expression

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.left, self.right)


@dataclass(frozen=True)
class And(Condition):
    operands: tuple[Expression, ...]

    @property
    def children(self) -> tuple[Expression, ...]:
        return self.operands


@dataclass(frozen=True)
class Or(Condition):
    operands: tuple[Expression, ...]

    @property
    def children(self) -> tuple[Expression, ...]:
        return self.operands


@dataclass(frozen=True)
class Not(Condition):
    operand: Expression

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.operand,)


@dataclass(frozen=True)
class In(Condition):
    """The operand and all options have one type."""

    operand: Expression
    options: tuple[Expression, ...]

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.operand, *self.options)


@dataclass(frozen=True)
class IsNull(Condition):
    operand: Expression

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.operand,)


@dataclass(frozen=True)
class IsNotNull(Condition):
    operand: Expression

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.operand,)


@dataclass(frozen=True)
class Like(Condition):
    """`%` is any text, `_` one character, `escape` makes the next of them ordinary."""

    operand: Expression
    pattern: str
    escape: str = "\\"

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.operand,)


@dataclass(frozen=True)
class StartsWith(Condition):
    operand: Expression
    prefix: str

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.operand,)


@dataclass(frozen=True)
class Cast(Expression):
    """An ANSI cast: a value that the type cannot hold is an error."""

    operand: Expression
    data_type: DataType

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.operand,)


@dataclass(frozen=True)
class Arithmetic(Expression):
    """`operator` is one of `ARITHMETIC`; overflow and division by zero are errors."""

    operator: str
    left: Expression
    right: Expression
    data_type: DataType

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.left, self.right)


@dataclass(frozen=True)
class Negate(Expression):
    operand: Expression

    @property
    def data_type(self) -> DataType:
        return self.operand.data_type

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.operand,)


@dataclass(frozen=True)
class Case(Expression):
    """The value of the first branch whose condition is true; null where there is no such branch."""

    branches: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression | None
    data_type: DataType

    @property
    def children(self) -> tuple[Expression, ...]:
        branches = tuple(each for branch in self.branches for each in branch)
        return branches if self.otherwise is None else (*branches, self.otherwise)


@dataclass(frozen=True)
class Coalesce(Expression):
    """The first operand that is not null."""

    operands: tuple[Expression, ...]
    data_type: DataType

    @property
    def children(self) -> tuple[Expression, ...]:
        return self.operands


@dataclass(frozen=True)
class Function(Expression):
    """A call of one of the functions in `functions.KERNELS`."""

    name: str
    arguments: tuple[Expression, ...]
    data_type: DataType

    @property
    def children(self) -> tuple[Expression, ...]:
        return self.arguments


@dataclass(frozen=True)
class MakeStruct(Expression):
    """A struct of the operands, which is never null. Only new values of columns may be structs."""

    operands: tuple[Expression, ...]
    data_type: StructType

    @property
    def children(self) -> tuple[Expression, ...]:
        return self.operands


@dataclass(frozen=True)
class Opaque(Expression):
    """Something that Lakebed cannot evaluate. It may stand in trees that are used for skipping."""

    sql: str
    operands: tuple[Expression, ...] = ()
    data_type: DataType = BOOLEAN

    @property
    def children(self) -> tuple[Expression, ...]:
        return self.operands


TRUE = Literal(True, BOOLEAN)
FALSE = Literal(False, BOOLEAN)


def literal(value: Any) -> Literal:
    """The literal of a Python value, typed as Spark types it."""
    if isinstance(value, datetime):
        return _timestamp_literal(value)
    if isinstance(value, date):
        return Literal((value - date(1970, 1, 1)).days, DATE)
    if isinstance(value, int) and not isinstance(value, bool):
        return Literal(value, INTEGER if -(2**31) <= value < 2**31 else LONG)
    if isinstance(value, Decimal) and value.is_finite():
        return Literal(value, decimal_type(value))
    for kind, data_type in _LITERAL_TYPES:
        if isinstance(value, kind):
            return Literal(value, data_type)
    raise InvalidArgumentError(f"{value!r} ({type(value).__name__}) has no literal in SQL")


def decimal_type(value: Decimal) -> DecimalType:
    """The smallest decimal type that holds the value."""
    _, digits, exponent = value.as_tuple()
    scale = max(0, -int(exponent))
    whole = len(digits) + int(exponent) if any(digits) else 0
    return DecimalType(max(1, scale, whole + scale), scale)


def conjunction(operands: list[Expression]) -> Expression:
    """All operands together; none at all is true."""
    return operands[0] if len(operands) == 1 else And(tuple(operands)) if operands else TRUE


def split_conjuncts(expression: Expression) -> list[Expression]:
    """The parts that must all be true for the whole to be true."""
    if isinstance(expression, And):
        return [part for operand in expression.operands for part in split_conjuncts(operand)]
    return [expression]


def walk(expression: Expression) -> Iterator[Expression]:
    """The node and all nodes below it, parents first."""
    pending = [expression]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(node.children))


def references(expression: Expression) -> set[Path]:
    """The paths of all columns in the expression."""
    return {node.path for node in walk(expression) if isinstance(node, Column)}


def depends_only_on(expression: Expression, names: Collection[str]) -> bool:
    """Whether the top-level columns of these names, in lower case, are enough to evaluate it."""
    for node in walk(expression):
        if isinstance(node, Opaque):
            return False
        if isinstance(node, Column) and node.path[0].lower() not in names:
            return False
    return True


_LITERAL_TYPES: tuple[tuple[type, DataType], ...] = (
    (type(None), VOID),
    (bool, BOOLEAN),
    (float, DOUBLE),
    (str, STRING),
    (bytes, BINARY),
)


def _timestamp_literal(value: datetime) -> Literal:
    zone = None if value.tzinfo is None else timezone.utc
    micros = (value - datetime(1970, 1, 1, tzinfo=zone)) // timedelta(microseconds=1)
    return Literal(micros, TIMESTAMP_NTZ if zone is None else TIMESTAMP)
