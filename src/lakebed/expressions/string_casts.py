"""Text as values, by the rules of Spark's ANSI casts from strings.

The readers return None for text that is no value of the type. Dates are days and timestamps
microseconds since 1970; text without a zone is taken to be in UTC.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa

from lakebed.spec.schema import (
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    DecimalType,
    PrimitiveType,
)
from lakebed.spec.timestamps import MICROS_PER_SECOND, parse_date, parse_local_timestamp


def reader(data_type: DataType) -> Callable[[str], Any] | None:
    """The function that reads text as a value of the type; None if there is none."""
    if isinstance(data_type, DecimalType):
        return lambda text: round_decimal(_decimal(text), data_type)
    return _READERS.get(data_type.name) if isinstance(data_type, PrimitiveType) else None


def round_decimal(value: Decimal | None, data_type: DecimalType) -> Decimal | None:
    """The value at the type's scale, ties away from zero; None if it has too many digits."""
    if value is None or not value.is_finite():
        return None
    if value.adjusted() >= data_type.precision:
        return None if value else Decimal(0)
    unit = Decimal(1).scaleb(-data_type.scale)
    rounded = value.quantize(unit, rounding=ROUND_HALF_UP, context=_WIDE)
    return rounded if rounded.adjusted() < data_type.precision - data_type.scale else _zero(rounded)


_WIDE = Context(prec=100, Emax=10**6, Emin=-(10**6))
_BLANKS = "".join(map(chr, range(0x21))) + "\x7f"
_INTEGER = re.compile(r"[+-]?[0-9]{1,64}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,9})?")
_SPECIAL = re.compile(r"([+-]?)(inf|infinity|nan)", re.IGNORECASE)
_TRUE = frozenset(["t", "true", "y", "yes", "1"])
_FALSE = frozenset(["f", "false", "n", "no", "0"])
_DATE = re.compile(r"([+-]?[0-9]{4,7})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T].*)?)?)?", re.DOTALL)
_TIMESTAMP = re.compile(
    r"([+-]?[0-9]{4,7})(?:-([0-9]{1,2})(?:-([0-9]{1,2})"
    r"(?:[ T]([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]*))?)?)?\ ?(.*))?)?)?"
)
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])([0-9]{1,2})(?::?([0-9]{2})(?::?([0-9]{2}))?)?")


def _zero(rounded: Decimal) -> Decimal | None:
    # Zero has one digit, which a type like decimal(2,2) has no place for and does not need.
    return None if rounded else rounded


def _integer(bits: int) -> Callable[[str], int | None]:
    limit = 1 << (bits - 1)

    def read(text: str) -> int | None:
        stripped = text.strip(_BLANKS)
        value = int(stripped) if _INTEGER.fullmatch(stripped) else limit
        return value if -limit <= value < limit else None

    return read


def _floating(convert: Callable[[str], float]) -> Callable[[str], float | None]:
    def read(text: str) -> float | None:
        stripped = text.strip(_BLANKS)
        special = _SPECIAL.fullmatch(stripped)
        if special is not None:
            return _not_finite(special)
        number = stripped[:-1] if stripped[-1:] in tuple("dDfF") else stripped
        return convert(number) if _NUMBER.fullmatch(number) else None

    return read


def _not_finite(match: re.Match[str]) -> float | None:
    if match[2].lower() == "nan":
        return None if match[1] else math.nan
    return -math.inf if match[1] == "-" else math.inf


def _single(number: str) -> float:
    # Through a double it would be rounded twice.
    value: float = pa.scalar(number.lstrip("+")).cast(pa.float32()).as_py()
    return value


def _decimal(text: str) -> Decimal | None:
    stripped = text.strip(_BLANKS)
    try:
        return Decimal(stripped) if _NUMBER.fullmatch(stripped) else None
    except InvalidOperation:
        return None


def _boolean(text: str) -> bool | None:
    lowered = text.strip(_BLANKS).lower()
    return True if lowered in _TRUE else False if lowered in _FALSE else None


def _days(text: str) -> int | None:
    match = _DATE.fullmatch(text.strip(_BLANKS))
    days = None if match is None else parse_date(f"{match[1]}-{match[2] or 1}-{match[3] or 1}")
    return _in_range(days, 32)


def _local_micros(text: str) -> int | None:
    match = _TIMESTAMP.fullmatch(text.strip(_BLANKS))
    return None if match is None else _in_range(_clock_micros(match), 64)


def _micros(text: str) -> int | None:
    match = _TIMESTAMP.fullmatch(text.strip(_BLANKS))
    local = None if match is None else _clock_micros(match)
    if match is None or local is None:
        return None
    seconds = _offset_seconds(match[8], local)
    return None if seconds is None else _in_range(local - seconds * MICROS_PER_SECOND, 64)


def _clock_micros(match: re.Match[str]) -> int | None:
    year, month, day, hour, minute, second, fraction, _ = match.groups()
    date = f"{year}-{month or 1}-{day or 1}"
    clock = f"{hour or 0}:{minute or 0}:{second or 0}.{(fraction or '0')[:6]}"
    return parse_local_timestamp(f"{date} {clock}")


def _offset_seconds(zone: str | None, local: int) -> int | None:
    if not zone or zone in ("Z", "UTC", "GMT", "UT"):
        return 0
    match = _OFFSET.fullmatch(zone)
    if match is None:
        return _named_offset_seconds(zone, local)
    hours, minutes, seconds = int(match[2]), int(match[3] or 0), int(match[4] or 0)
    total = hours * 3600 + minutes * 60 + seconds
    if minutes > 59 or seconds > 59 or total > 18 * 3600:
        return None
    return -total if match[1] == "-" else total


def _named_offset_seconds(zone: str, local: int) -> int | None:
    try:
        clock = datetime(1970, 1, 1) + timedelta(microseconds=local)
        offset = clock.replace(tzinfo=ZoneInfo(zone)).utcoffset()
    except (OSError, KeyError, ValueError, OverflowError):
        # No such zone, or a clock outside the years that Python knows.
        return None
    return None if offset is None else int(offset.total_seconds())


def _in_range(value: int | None, bits: int) -> int | None:
    limit = 1 << (bits - 1)
    return value if value is not None and -limit <= value < limit else None


_READERS: dict[str, Callable[[str], Any]] = {
    BYTE.name: _integer(8),
    SHORT.name: _integer(16),
    INTEGER.name: _integer(32),
    LONG.name: _integer(64),
    FLOAT.name: _floating(_single),
    DOUBLE.name: _floating(float),
    BOOLEAN.name: _boolean,
    DATE.name: _days,
    TIMESTAMP.name: _micros,
    TIMESTAMP_NTZ.name: _local_micros,
}
