"""Function calls in SQL: which functions there are, what they take, and what they become."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches

from lakebed.errors import PredicateError
from lakebed.expressions.coercion import (
    Term,
    cast_to,
    comparison,
    to_condition,
    to_text,
    unify,
)
from lakebed.expressions.evaluator.functions import TRUNCATIONS, format_parts
from lakebed.expressions.tree import (
    Case,
    Coalesce,
    Expression,
    Function,
    IsNotNull,
    IsNull,
    Literal,
    MakeStruct,
    Negate,
    StartsWith,
)
from lakebed.expressions.values import INTEGRAL, TEMPORAL, is_numeric
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
    StructField,
    StructType,
)


@dataclass(frozen=True)
class Call:
    name: str
    arguments: list[Term]
    sql: str
    position: int

    @property
    def at(self) -> Term:
        return Term(Literal(None, VOID), self.sql, self.position)

    def error(self, message: str, hint: str | None = None) -> PredicateError:
        return self.at.error(message, hint)


def resolve(call: Call) -> Expression:
    """The expression that a call means."""
    known = _FUNCTIONS.get(call.name.lower())
    if known is None:
        raise _unknown(call)
    least, most, build = known
    count = len(call.arguments)
    if count < least or (most is not None and count > most):
        wanted = f"{least}" if most == least else f"{least} or more" if most is None else None
        raise call.error(
            f"{call.name} takes {wanted or f'{least} to {most}'} arguments, not {count}"
        )
    return build(call)


def negation(term: Term) -> Expression:
    """The unary minus."""
    number = _number(term, "-")
    return Negate(number.expression)


# --- arguments ---------------------------------------------------------------------------------


def _number(term: Term, name: str) -> Term:
    if term.data_type in (STRING, VOID):
        return cast_to(term, DOUBLE)
    if not is_numeric(term.data_type):
        raise term.error(f"{name} takes a number, not a {term.data_type}")
    return term


def _constant(term: Term, what: str, data_type: DataType) -> Literal:
    literal = term.expression
    if not isinstance(literal, Literal):
        raise term.error(f"{what} must be a constant")
    constant = cast_to(term, data_type).expression
    assert isinstance(constant, Literal)
    return constant


def _temporal(term: Term, name: str, data_type: DataType) -> Term:
    if term.data_type not in (*TEMPORAL, STRING, VOID):
        raise term.error(f"{name} takes a date or a timestamp, not a {term.data_type}")
    return cast_to(term, data_type)


def _text_or_bytes(term: Term) -> Term:
    return term if term.data_type == BINARY else to_text(term)


# --- what calls become -------------------------------------------------------------------------


def _text_function(name: str, result: DataType) -> Callable[[Call], Expression]:
    return lambda call: Function(name, (to_text(call.arguments[0]).expression,), result)


def _date_part(name: str) -> Callable[[Call], Expression]:
    return lambda call: Function(
        name, (_temporal(call.arguments[0], name, DATE).expression,), INTEGER
    )


def _time_part(name: str) -> Callable[[Call], Expression]:
    def build(call: Call) -> Expression:
        (term,) = call.arguments
        kept = TIMESTAMP_NTZ if term.data_type == TIMESTAMP_NTZ else TIMESTAMP
        return Function(name, (_temporal(term, name, kept).expression,), INTEGER)

    return build


def _length(call: Call) -> Expression:
    return Function("length", (_text_or_bytes(call.arguments[0]).expression,), INTEGER)


def _abs(call: Call) -> Expression:
    number = _number(call.arguments[0], "abs")
    return Function("abs", (number.expression,), number.data_type)


def _substring(call: Call) -> Expression:
    text = _text_or_bytes(call.arguments[0])
    position = _constant(call.arguments[1], "the position in substring", INTEGER)
    length = Literal(2**31 - 1, INTEGER)
    if len(call.arguments) == 3:
        length = _constant(call.arguments[2], "the length in substring", INTEGER)
    return Function("substring", (text.expression, position, length), text.data_type)


def concat(call: Call) -> Expression:
    if not call.arguments:
        return Literal("", STRING)
    if all(each.data_type == BINARY for each in call.arguments):
        return Function("concat", tuple(each.expression for each in call.arguments), BINARY)
    terms = [to_text(each) for each in call.arguments]
    return Function("concat", tuple(each.expression for each in terms), STRING)


def _starts_with(call: Call) -> Expression:
    text, prefix = _text_and_pattern(call)
    return Literal(None, BOOLEAN) if prefix is None else StartsWith(text, prefix)


def _matcher(name: str) -> Callable[[Call], Expression]:
    def build(call: Call) -> Expression:
        text, pattern = _text_and_pattern(call)
        if pattern is None:
            return Literal(None, BOOLEAN)
        return Function(name, (text, Literal(pattern, STRING)), BOOLEAN)

    return build


def _text_and_pattern(call: Call) -> tuple[Expression, str | None]:
    text, pattern = call.arguments
    constant = _constant(pattern, f"the second argument of {call.name}", STRING)
    return to_text(text).expression, constant.value


def _is_nan(call: Call) -> Expression:
    number = _number(call.arguments[0], "isnan")
    kept = number if number.data_type == FLOAT else cast_to(number, DOUBLE)
    return Function("isnan", (kept.expression,), BOOLEAN)


def _date_trunc(call: Call) -> Expression:
    unit = _constant(call.arguments[0], "the unit in date_trunc", STRING).value
    timestamp = _temporal(call.arguments[1], "date_trunc", TIMESTAMP)
    known = TRUNCATIONS.get(unit.upper()) if unit is not None else None
    if known is None:
        hint = "The units are: " + ", ".join(dict.fromkeys(TRUNCATIONS.values())) + "."
        raise call.arguments[0].error(f"date_trunc has no unit {unit!r}", hint)
    return Function("date_trunc", (Literal(known, STRING), timestamp.expression), TIMESTAMP)


def _trunc(call: Call) -> Expression:
    date = _temporal(call.arguments[0], "trunc", DATE)
    unit = _constant(call.arguments[1], "the unit in trunc", STRING).value
    known = TRUNCATIONS.get(unit.upper()) if unit is not None else None
    if known not in ("year", "quarter", "month", "week"):
        hint = "The units are: year, quarter, month, week."
        raise call.arguments[1].error(f"trunc has no unit {unit!r}", hint)
    return Function("trunc", (date.expression, Literal(known, STRING)), DATE)


def _date_format(call: Call) -> Expression:
    term = call.arguments[0]
    kept = TIMESTAMP_NTZ if term.data_type == TIMESTAMP_NTZ else TIMESTAMP
    pattern = _constant(call.arguments[1], "the pattern in date_format", STRING)
    if pattern.value is None or format_parts(pattern.value) is None:
        hint = "Supported are yyyy, MM, dd, HH, mm and ss with marks between them."
        raise call.arguments[1].error(f"the pattern {pattern.value!r} is not supported", hint)
    return Function(
        "date_format", (_temporal(term, "date_format", kept).expression, pattern), STRING
    )


def _date_shift(name: str) -> Callable[[Call], Expression]:
    def build(call: Call) -> Expression:
        date = _temporal(call.arguments[0], name, DATE)
        days = call.arguments[1]
        if days.data_type not in (*INTEGRAL[:3], STRING, VOID):
            raise days.error(f"{name} takes an INT as the number of days, not a {days.data_type}")
        return Function(name, (date.expression, cast_to(days, INTEGER).expression), DATE)

    return build


def _date_diff(call: Call) -> Expression:
    end, start = (_temporal(each, "datediff", DATE).expression for each in call.arguments)
    return Function("datediff", (end, start), INTEGER)


def _coalesce(call: Call) -> Expression:
    terms = unify(call.arguments, call.name)
    return Coalesce(tuple(each.expression for each in terms), terms[0].data_type)


def _null_if(call: Call) -> Expression:
    left, right = call.arguments
    equal = comparison("=", left, right, call.at)
    none = Literal(None, left.data_type)
    return Case(((equal, none),), left.expression, left.data_type)


def _if(call: Call) -> Expression:
    condition = to_condition(call.arguments[0]).expression
    yes, no = unify(call.arguments[1:], "IF")
    return Case(((condition, yes.expression),), no.expression, yes.data_type)


def _named_struct(call: Call) -> Expression:
    names, terms = call.arguments[::2], call.arguments[1::2]
    if len(names) != len(terms):
        raise call.error("named_struct takes a name and a value for each field")
    fields = []
    for name, term in zip(names, terms, strict=True):
        text = _constant(name, "the name of a field", STRING).value
        if text is None:
            raise name.error("the name of a field is null")
        fields.append(StructField(text, term.data_type))
    operands = tuple(term.expression for term in terms)
    return MakeStruct(operands, StructType(tuple(fields)))


def _null_test(node: Callable[[Expression], Expression]) -> Callable[[Call], Expression]:
    return lambda call: node(call.arguments[0].expression)


def _cast(data_type: DataType) -> Callable[[Call], Expression]:
    return lambda call: cast_to(call.arguments[0], data_type).expression


# --- the functions -----------------------------------------------------------------------------

_Known = tuple[int, int | None, Callable[[Call], Expression]]
_FUNCTIONS: dict[str, _Known] = {
    **{name: (1, 1, _text_function(name, STRING)) for name in ("lower", "upper")},
    **{name: (1, 1, _text_function(name, STRING)) for name in ("trim", "ltrim", "rtrim")},
    "lcase": (1, 1, _text_function("lower", STRING)),
    "ucase": (1, 1, _text_function("upper", STRING)),
    **dict.fromkeys(("length", "len", "char_length", "character_length"), (1, 1, _length)),
    **dict.fromkeys(("substring", "substr"), (2, 3, _substring)),
    "concat": (0, None, concat),
    "startswith": (2, 2, _starts_with),
    **{name: (2, 2, _matcher(name)) for name in ("endswith", "contains")},
    "abs": (1, 1, _abs),
    "isnan": (1, 1, _is_nan),
    **{name: (1, 1, _date_part(name)) for name in ("year", "quarter", "month", "day")},
    "dayofmonth": (1, 1, _date_part("day")),
    **{name: (1, 1, _time_part(name)) for name in ("hour", "minute", "second")},
    "date_trunc": (2, 2, _date_trunc),
    **{name: (2, 2, _date_shift(name)) for name in ("date_add", "date_sub")},
    "trunc": (2, 2, _trunc),
    "date_format": (2, 2, _date_format),
    "dateadd": (2, 2, _date_shift("date_add")),
    **dict.fromkeys(("datediff", "date_diff"), (2, 2, _date_diff)),
    "to_date": (1, 1, _cast(DATE)),
    "to_timestamp": (1, 1, _cast(TIMESTAMP)),
    "coalesce": (1, None, _coalesce),
    **dict.fromkeys(("nvl", "ifnull"), (2, 2, _coalesce)),
    "nullif": (2, 2, _null_if),
    "if": (3, 3, _if),
    "named_struct": (2, None, _named_struct),
    "isnull": (1, 1, _null_test(IsNull)),
    "isnotnull": (1, 1, _null_test(IsNotNull)),
    **{
        name: (1, 1, _cast(data_type))
        for name, data_type in {
            "boolean": BOOLEAN,
            "tinyint": BYTE,
            "smallint": SHORT,
            "int": INTEGER,
            "bigint": LONG,
            "float": FLOAT,
            "double": DOUBLE,
            "decimal": DecimalType(10, 0),
            "string": STRING,
            "binary": BINARY,
            "date": DATE,
            "timestamp": TIMESTAMP,
        }.items()
    },
}
_AGGREGATES = (
    *("any", "avg", "collect_list", "collect_set", "count", "count_if", "every", "first", "last"),
    *("max", "mean", "median", "min", "some", "std", "stddev", "sum", "variance"),
)
_WINDOW = ("row_number", "rank", "dense_rank", "ntile", "lag", "lead")
_CHANGING = ("current_date", "current_timestamp", "now", "rand", "random", "randn", "uuid")


def _unknown(call: Call) -> PredicateError:
    name = call.name.lower()
    if name in _AGGREGATES or name in _WINDOW:
        kind = "an aggregate" if name in _AGGREGATES else "a window function"
        return call.error(
            f"{call.name} is {kind}, and a predicate is about one row at a time",
            hint="Compute the value first, then put it into the predicate.",
        )
    if name in _CHANGING:
        return call.error(
            f"{call.name} has a new value at every call",
            hint="Compute the value first, then put it into the predicate.",
        )
    close = get_close_matches(name, _FUNCTIONS, n=1)
    known = ", ".join(sorted(_FUNCTIONS))
    hint = f"Did you mean {close[0]}?" if close else f"The functions are: {known}."
    return call.error(f"unknown function {call.name}", hint)
