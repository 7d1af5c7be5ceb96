"""What partition values say about the columns that they are generated from.

PROTOCOL: Generated Columns. Every value of a generated column is that of its expression, so the
partition `day = 2026-01-31` of a table with `day DATE GENERATED ALWAYS AS (CAST(ts AS DATE))` has
no `ts` of another day. Such bounds stand in where a file has no statistics of `ts`.

An expression on a TIMESTAMP was computed in the time zone of the writer, which no one has recorded.
Bounds are wide enough for all zones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import PredicateError
from lakebed.expressions.evaluator.functions import format_parts
from lakebed.expressions.file_facts import FileColumnsProtocol
from lakebed.expressions.parser.parse_predicate import parse_expression
from lakebed.expressions.tree import Cast, Column, Expression, Function, Literal
from lakebed.expressions.values import FLOATING, TEMPORAL, arrow_type, is_atomic
from lakebed.spec.columns.column_metadata import generation_expression
from lakebed.spec.schema import (
    BOOLEAN,
    DATE,
    STRING,
    TIMESTAMP,
    Path,
    StructField,
    StructType,
)

Interval = tuple[Any, Any]
"""The first and the last value that a column can have, both included."""


class GeneratedBounds:
    """The columns of a table that its partition columns are generated from."""

    def __init__(self, schema: StructType, partition_columns: Sequence[str]) -> None:
        self._rules: dict[Path, list[_Rule]] = {}
        parts: dict[Path, dict[str, _Part]] = {}
        for name in partition_columns:
            found = _understand(schema, schema.find(name))
            if isinstance(found, _Part):
                parts.setdefault(_folded(found.source.path), {})[found.unit] = found
            elif found is not None:
                self._rules.setdefault(_folded(found.source.path), []).append(found)
        for path, units in parts.items():
            rule = _of_parts(units)
            if rule is not None:
                self._rules.setdefault(path, []).append(rule)

    def __bool__(self) -> bool:
        return bool(self._rules)

    def over(self, columns: FileColumnsProtocol) -> FileColumnsProtocol:
        """The statistics of files, completed."""
        return _Completed(columns, self._rules) if self else columns

    def alone(self, columns: FileColumnsProtocol) -> FileColumnsProtocol:
        """Only what partition values say; statistics are not asked for."""
        return _OfPartitions(columns, self._rules)


# --- files ---------------------------------------------------------------------------------------


class _OfPartitions:
    """`FileColumnsProtocol` without statistics."""

    def __init__(self, columns: FileColumnsProtocol, rules: dict[Path, list[_Rule]]) -> None:
        self._columns = columns
        self._rules = rules
        self._known: dict[Path, tuple[pa.Array, pa.Array] | None] = {}

    @property
    def num_files(self) -> int:
        return self._columns.num_files

    def partition(self, name: str) -> pa.Array:
        return self._columns.partition(name)

    def minimum(self, path: Path) -> pa.Array | None:
        bounds = self._bounds(path)
        return None if bounds is None else bounds[0]

    def maximum(self, path: Path) -> pa.Array | None:
        bounds = self._bounds(path)
        return None if bounds is None else bounds[1]

    def null_count(self, _: Path) -> pa.Array | None:
        return None

    def num_records(self) -> pa.Array | None:
        return None

    def tight(self) -> pa.Array | None:
        return None

    def _bounds(self, path: Path) -> tuple[pa.Array, pa.Array] | None:
        key = _folded(path)
        if key not in self._known:
            found = [rule.bounds(self._columns) for rule in self._rules.get(key, ())]
            self._known[key] = _narrowest(found) if found else None
        return self._known[key]


class _Completed(_OfPartitions):
    """The statistics of files, and the bounds by partition values where there are none."""

    def minimum(self, path: Path) -> pa.Array | None:
        known = self._columns.minimum(path)
        return known if _is_complete(known) else _either(known, super().minimum(path))

    def maximum(self, path: Path) -> pa.Array | None:
        known = self._columns.maximum(path)
        return known if _is_complete(known) else _either(known, super().maximum(path))

    def null_count(self, path: Path) -> pa.Array | None:
        return self._columns.null_count(path)

    def num_records(self) -> pa.Array | None:
        return self._columns.num_records()

    def tight(self) -> pa.Array | None:
        return self._columns.tight()


def _is_complete(known: pa.Array | None) -> bool:
    return known is not None and known.null_count == 0


def _either(known: pa.Array | None, derived: pa.Array | None) -> pa.Array | None:
    if known is None or derived is None:
        return derived if known is None else known
    return pc.coalesce(known, pc.cast(derived, known.type))


def _narrowest(found: list[tuple[pa.Array, pa.Array]]) -> tuple[pa.Array, pa.Array]:
    """All are right, so the highest lower and the lowest upper bound are too; null is none."""
    lows, highs = zip(*found, strict=True)
    if len(found) == 1:
        return found[0]
    return pc.max_element_wise(*lows), pc.min_element_wise(*highs)


# --- rules ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Rule:
    """How the values of partition columns bound `source`. `invert` knows nothing of zones."""

    source: Column
    columns: tuple[str, ...]
    invert: Callable[..., Interval | None]
    is_zoned: bool = False

    def bounds(self, columns: FileColumnsProtocol) -> tuple[pa.Array, pa.Array]:
        partitions = [columns.partition(name) for name in self.columns]
        rows = zip(*(_plain(values) for values in partitions), strict=True)
        known: dict[tuple[Any, ...], Interval] = {}
        found = [known.get(row) or known.setdefault(row, self._interval(row)) for row in rows]
        kind = arrow_type(self.source.data_type)
        low, high = ([each[side] for each in found] for side in (0, 1))
        return pa.array(low, kind), pa.array(high, kind)

    def _interval(self, values: tuple[Any, ...]) -> Interval:
        """Nulls are no bounds: an empty text, too, is stored as null."""
        if any(value is None for value in values):
            return None, None
        try:
            found = self.invert(*values)
            return (None, None) if found is None else self._stored(found)
        except (ValueError, OverflowError):
            # Python has the years 1 to 9999, and a writer may have put anything into the log.
            return None, None

    def _stored(self, found: Interval) -> Interval:
        if self.source.data_type not in TEMPORAL:
            return found
        first, last = found
        if self.is_zoned:
            first, last = first - _ANY_ZONE, last + _ANY_ZONE
        if self.source.data_type == DATE:
            return first // _DAY, last // _DAY
        return first, last


@dataclass(frozen=True)
class _Part:
    """A partition column that is one of year, month, day and hour of a column."""

    source: Column
    unit: str
    name: str


def _understand(schema: StructType, field: StructField | None) -> _Rule | _Part | None:
    sql = None if field is None else generation_expression(field)
    if field is None or sql is None:
        return None
    try:
        expression = parse_expression(sql, schema)
    except PredicateError:
        # Spark knows more functions than Lakebed.
        return None
    if expression.data_type != field.data_type:
        return None
    return _rule(field.name, expression)


def _rule(name: str, expression: Expression) -> _Rule | _Part | None:
    if isinstance(expression, Column):
        return _identity(name, expression)
    if isinstance(expression, Cast):
        return _day(name, expression)
    if isinstance(expression, Function):
        handler = _FUNCTIONS.get(expression.name)
        return None if handler is None else handler(name, expression)
    return None


def _identity(name: str, source: Column) -> _Rule | None:
    if not is_atomic(source.data_type) or source.data_type in (*FLOATING, BOOLEAN):
        # NaN and -0.0 are equal to what has other bits, and a boolean has no range.
        return None
    zoned = source.data_type == TIMESTAMP
    return _Rule(source, (name,), lambda value: (value, value), zoned)


def _day(name: str, expression: Cast) -> _Rule | None:
    source = _time_column(expression, "day")
    if source is None or expression.data_type != DATE:
        return None
    return _Rule(source, (name,), lambda micros: (micros, micros + _DAY - 1), _is_zoned(source))


def _part(name: str, expression: Function) -> _Part | None:
    source = _time_column(expression.arguments[0], expression.name)
    return None if source is None else _Part(source, expression.name, name)


def _of_parts(units: dict[str, _Part]) -> _Rule | None:
    """As many of year, month, day and hour as follow one another."""
    known: list[str] = []
    for unit in ("year", "month", "day", "hour"):
        if unit not in units:
            break
        known.append(unit)
    if not known:
        return None
    source, last = units["year"].source, known[-1]
    names = tuple(units[unit].name for unit in known)
    return _Rule(source, names, lambda *parts: _since(parts, last), _is_zoned(source))


def _formatted(name: str, expression: Function) -> _Rule | None:
    pattern = _constant(expression.arguments[1])
    parts = format_parts(pattern) if isinstance(pattern, str) else None
    fields = [part for part in parts or () if part in _FORMAT_UNITS]
    if parts is None or not fields or fields != list(_FORMAT_UNITS)[: len(fields)]:
        return None
    unit = _FORMAT_UNITS[fields[-1]]
    source = _time_column(expression.arguments[0], unit)
    if source is None:
        return None
    text = re.compile("".join(_field_pattern(part) for part in parts))

    def invert(value: str) -> Interval | None:
        # A year of more digits has a sign in front of it, and is not understood.
        match = text.fullmatch(value)
        return None if match is None else _since(tuple(map(int, match.groups())), unit)

    return _Rule(source, (name,), invert, _is_zoned(source))


def _field_pattern(part: str) -> str:
    return f"([0-9]{{{len(part)}}})" if part in _FORMAT_UNITS else re.escape(part)


def _truncated(name: str, expression: Function) -> _Rule | None:
    """`date_trunc(unit, ts)` or `trunc(date, unit)`."""
    of_time = expression.name == "date_trunc"
    constant, operand = expression.arguments if of_time else expression.arguments[::-1]
    unit = _constant(constant)
    source = _time_column(operand, unit) if unit in _LONGEST else None
    if source is None:
        return None
    length = _LONGEST[unit]
    # The result of date_trunc is a TIMESTAMP, whose text in the log may have lost its zone.
    zoned = of_time or _is_zoned(source)
    return _Rule(source, (name,), lambda start: (start, start + length), zoned)


def _substring(name: str, expression: Function) -> _Rule | None:
    source, start, length = expression.arguments
    count = _constant(length)
    if not isinstance(source, Column) or source.data_type != STRING:
        return None
    if _constant(start) not in (0, 1) or not isinstance(count, int) or count < 1:
        return None

    def invert(text: str) -> Interval | None:
        return (text, text) if len(text) < count else (text, _after(text))

    return _Rule(source, (name,), invert)


_FUNCTIONS: dict[str, Callable[[str, Function], _Rule | _Part | None]] = {
    **dict.fromkeys(("year", "month", "day", "hour"), _part),
    **dict.fromkeys(("date_trunc", "trunc"), _truncated),
    "date_format": _formatted,
    "substring": _substring,
}


def _constant(expression: Expression) -> Any:
    return expression.value if isinstance(expression, Literal) else None


def _time_column(expression: Expression, unit: str) -> Column | None:
    """The column itself, or one whose cast says as much of the unit: a date has lost its hour."""
    while isinstance(expression, Cast) and expression.data_type in TEMPORAL:
        if expression.data_type == DATE and _LONGEST[unit] < _DAY:
            return None
        expression = expression.operand
    is_time = isinstance(expression, Column) and expression.data_type in TEMPORAL
    return expression if is_time and isinstance(expression, Column) else None


def _is_zoned(source: Column) -> bool:
    return source.data_type == TIMESTAMP


# --- values --------------------------------------------------------------------------------------

_HOUR = 3_600_000_000
_DAY = 24 * _HOUR
# Java, and so Spark, knows offsets of up to 18 hours. Of real zones the history has almost 16.
_ANY_ZONE = 18 * _HOUR
_LONGEST = {
    "year": 366 * _DAY,
    "quarter": 92 * _DAY,
    "month": 31 * _DAY,
    "week": 7 * _DAY,
    "day": _DAY,
    "hour": _HOUR,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1_000,
    "microsecond": 1,
}
_FORMAT_UNITS = {
    "yyyy": "year",
    "MM": "month",
    "dd": "day",
    "HH": "hour",
    "mm": "minute",
    "ss": "second",
}


def _plain(values: pa.Array) -> list[Any]:
    """Dates and times as microseconds since 1970."""
    if pa.types.is_date(values.type):
        days = pc.cast(pc.cast(values, pa.int32()), pa.int64())
        return [None if each is None else each * _DAY for each in days.to_pylist()]
    if pa.types.is_timestamp(values.type):
        return list(pc.cast(values, pa.int64()).to_pylist())
    return list(values.to_pylist())


def _since(parts: tuple[int, ...], unit: str) -> Interval:
    """All times that begin with these parts: year, month, day, hour, minute, second."""
    year, month, day, hour, minute, second = (*parts, *(1, 1, 1, 0, 0, 0)[len(parts) :])
    first = datetime(year, month, day, hour, minute, second)
    start = (first - datetime(1970, 1, 1)) // timedelta(microseconds=1)
    return start, start + _LONGEST[unit]


def _after(text: str) -> str | None:
    """The first text after all that begin with this one, by code points."""
    while text:
        code = ord(text[-1])
        text = text[:-1]
        if code < 0x10FFFF:
            return text + chr(0xE000 if code == 0xD7FF else code + 1)
    return None


def _folded(path: Path) -> Path:
    return tuple(name.lower() for name in path)
