"""The functions that predicates can call, on columns of values.

Each takes the values of its arguments, typed as `calls` has typed them. Arguments that `calls`
demands to be constants, such as the unit of `date_trunc`, have the same value in every row.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import EvaluationError
from lakebed.expressions.casting import map_distinct
from lakebed.expressions.evaluator.arithmetic import absolute
from lakebed.expressions.values import Datum
from lakebed.spec.schema import DataType
from lakebed.spec.timestamps import format_local_timestamp


def call(name: str, arguments: list[Datum], data_type: DataType) -> Datum:
    """The function's values; all scalars give a scalar."""
    if arguments and all(isinstance(each, pa.Scalar) for each in arguments):
        return call(name, [pa.repeat(each, 1) for each in arguments], data_type)[0]
    return KERNELS[name](data_type, *arguments)


# Functions that fail on some values: they are computed only for the rows that ask for them.
FALLIBLE = frozenset(["abs", "date_add", "date_sub"])

# Functions that keep the order of the argument at this place, if the others are constants.
MONOTONIC = {"year": 0, "date_trunc": 1, "trunc": 0}

TRUNCATIONS = {
    **dict.fromkeys(("YEAR", "YYYY", "YY"), "year"),
    "QUARTER": "quarter",
    **dict.fromkeys(("MONTH", "MM", "MON"), "month"),
    "WEEK": "week",
    **dict.fromkeys(("DAY", "DD"), "day"),
    "HOUR": "hour",
    "MINUTE": "minute",
    "SECOND": "second",
    "MILLISECOND": "millisecond",
    "MICROSECOND": "microsecond",
}


def _lower(_: DataType, values: Datum) -> Datum:
    return _recased(values, pc.utf8_lower, str.lower)


def _upper(_: DataType, values: Datum) -> Datum:
    return _recased(values, pc.utf8_upper, str.upper)


def _recased(values: Datum, kernel: Callable[[Datum], Datum], full: Callable[[str], str]) -> Datum:
    # Arrow maps character by character; Java and Python know that the upper case of ß is SS.
    ascii_only = pc.all(pc.string_is_ascii(values), min_count=0).as_py()
    return kernel(values) if ascii_only else map_distinct(values, full, pa.string())


def _length(_: DataType, values: Datum) -> Datum:
    is_text = pa.types.is_string(values.type)
    return pc.utf8_length(values) if is_text else pc.binary_length(values)


def _substring(_: DataType, values: Datum, position: Datum, length: Datum) -> Datum:
    start, count = _constant(position), _constant(length)
    if start is None or count is None:
        return pa.nulls(len(values), values.type)
    first, stop = _slice_bounds(start, count)
    is_text = pa.types.is_string(values.type)
    return (pc.utf8_slice_codeunits if is_text else pc.binary_slice)(values, first, stop)


def _slice_bounds(position: int, length: int) -> tuple[int, int | None]:
    """SQL counts from 1, and from the end if negative; 0 is the start too."""
    if length <= 0:
        return 0, 0
    if position >= 0:
        first = max(position - 1, 0)
        return first, min(first + length, _LIMIT)
    stop = position + length
    return position, stop if stop < 0 else None


def _concat(data_type: DataType, *values: Datum) -> Datum:
    separator = pa.scalar("" if str(data_type) == "string" else b"", values[0].type)
    return pc.binary_join_element_wise(*values, separator, null_handling="emit_null")


def _trim(kernel: Callable[..., Datum]) -> Callable[[DataType, Datum], Datum]:
    return lambda _, values: kernel(values, characters=" ")


def _matcher(kernel: Callable[..., Datum]) -> Callable[[DataType, Datum, Datum], Datum]:
    return lambda _, values, pattern: kernel(values, pattern=_constant(pattern))


def _is_nan(_: DataType, values: Datum) -> Datum:
    return pc.fill_null(pc.is_nan(values), False)


def _part(kernel: Callable[[Datum], Datum]) -> Callable[[DataType, Datum], Datum]:
    return lambda _, values: pc.cast(kernel(values), pa.int32())


def _date_trunc(_: DataType, unit: Datum, values: Datum) -> Datum:
    return pc.floor_temporal(values, unit=_constant(unit))


def _trunc(_: DataType, dates: Datum, unit: Datum) -> Datum:
    return pc.floor_temporal(dates, unit=_constant(unit))


def _date_format(_: DataType, timestamps: Datum, pattern: Datum) -> Datum:
    parts = format_parts(_constant(pattern))
    assert parts is not None

    def write(micros: int) -> str:
        date, clock = format_local_timestamp(micros).split(" ")
        *year, month, day = date.rsplit("-", 2)
        fields = dict(zip(("HH", "mm", "ss"), clock[:8].split(":"), strict=True))
        fields |= {"yyyy": year[0], "MM": month, "dd": day}
        return "".join(fields.get(part, part) for part in parts)

    return map_distinct(pc.cast(timestamps, pa.int64()), write, pa.string())


def format_parts(pattern: str) -> list[str] | None:
    """A pattern of `date_format` as fields and marks; None if there is more in it than these."""
    if _FORMAT.fullmatch(pattern) is None:
        return None
    return _FIELD.findall(pattern)


_FORMAT = re.compile(r"(?:yyyy|MM|dd|HH|mm|ss|[-/.:, _])*(?![A-Za-z])")
_FIELD = re.compile(r"yyyy|MM|dd|HH|mm|ss|.")


def _date_add(_: DataType, dates: Datum, days: Datum) -> Datum:
    return _shifted(pc.add_checked, dates, days)


def _date_sub(_: DataType, dates: Datum, days: Datum) -> Datum:
    return _shifted(pc.subtract_checked, dates, days)


def _shifted(kernel: Callable[[Datum, Datum], Datum], dates: Datum, days: Datum) -> Datum:
    try:
        return pc.cast(kernel(pc.cast(dates, pa.int32()), days), pa.date32())
    except pa.ArrowInvalid as error:
        raise EvaluationError("a date is moved beyond what a date can hold") from error


def _datediff(_: DataType, end: Datum, start: Datum) -> Datum:
    return pc.subtract(pc.cast(end, pa.int32()), pc.cast(start, pa.int32()))


def _constant(values: Datum) -> Any:
    return (values if isinstance(values, pa.Scalar) else values[0]).as_py()


_LIMIT = 2**31 - 1

KERNELS: dict[str, Callable[..., Any]] = {
    "abs": lambda data_type, values: absolute(values, data_type),
    "concat": _concat,
    "contains": _matcher(pc.match_substring),
    "date_add": _date_add,
    "date_format": _date_format,
    "date_sub": _date_sub,
    "date_trunc": _date_trunc,
    "datediff": _datediff,
    "day": _part(pc.day),
    "endswith": _matcher(pc.ends_with),
    "hour": _part(pc.hour),
    "isnan": _is_nan,
    "length": _length,
    "lower": _lower,
    "ltrim": _trim(pc.utf8_ltrim),
    "minute": _part(pc.minute),
    "month": _part(pc.month),
    "quarter": _part(pc.quarter),
    "rtrim": _trim(pc.utf8_rtrim),
    "second": _part(pc.second),
    "substring": _substring,
    "trunc": _trunc,
    "trim": _trim(pc.utf8_trim),
    "upper": _upper,
    "year": _part(pc.year),
}
