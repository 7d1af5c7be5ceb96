"""Dates and timestamps as text (PROTOCOL: Partition Value Serialization).

Days and microseconds since 1970-01-01 stand for the values, as in Arrow and Parquet: Python's own
`date` and `datetime` end at the year 9999, Delta's do not. Years beyond four digits carry a sign,
`+12345-01-02`, years before 1 are `0000`, `-0001` ..., as Java prints them.

The readers return None for text that is no such value; the caller knows what to say about it.
"""

from __future__ import annotations

import re
from datetime import date

MICROS_PER_SECOND = 1_000_000
MICROS_PER_DAY = 86_400 * MICROS_PER_SECOND


def parse_date(text: str) -> int | None:
    """Days since the epoch. A time after the date is dropped, as Spark's cast drops it."""
    match = _DATE_TIME.fullmatch(text)
    return None if match is None else _days(match)


def format_date(days: int) -> str:
    """`2024-01-31`."""
    if _FIRST_DAY <= days <= _LAST_DAY:
        return date.fromordinal(days + _EPOCH).isoformat()
    year, month, day = _civil(days)
    # Java pads to four digits and signs what is longer.
    text = f"{year:05d}" if year < 0 else f"{year:04d}" if year <= 9999 else f"{year:+d}"
    return f"{text}-{month:02d}-{day:02d}"


def parse_timestamp(text: str) -> int | None:
    """Microseconds since the epoch in UTC; text without a zone is taken to be in UTC."""
    return _micros(text, with_zone=True)


def parse_local_timestamp(text: str) -> int | None:
    """Microseconds since the epoch on a local clock; a zone in the text is ignored, as by Spark."""
    return _micros(text, with_zone=False)


def format_timestamp(micros: int) -> str:
    """`2024-01-31T23:59:59.000001Z`: delta-spark's form, always with six digits."""
    days, rest = divmod(micros, MICROS_PER_DAY)
    seconds, fraction = divmod(rest, MICROS_PER_SECOND)
    return f"{format_date(days)}T{_clock(seconds)}.{fraction:06d}Z"


def format_local_timestamp(micros: int) -> str:
    """`2024-01-31 23:59:59.5`: Spark's cast to string, without trailing zeros."""
    days, rest = divmod(micros, MICROS_PER_DAY)
    seconds, fraction = divmod(rest, MICROS_PER_SECOND)
    tail = f".{fraction:06d}".rstrip("0") if fraction else ""
    return f"{format_date(days)} {_clock(seconds)}{tail}"


_EPOCH = date(1970, 1, 1).toordinal()
_FIRST_DAY = date.min.toordinal() - _EPOCH
_LAST_DAY = date.max.toordinal() - _EPOCH
_DATE_TIME = re.compile(
    r"([+-]?[0-9]{4,7})-([0-9]{1,2})-([0-9]{1,2})"
    r"(?:[ T]([0-9]{1,2}):([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]{1,9}))?)?"
    r" ?(Z|UTC|GMT|[+-][0-9]{1,2}(?::?[0-9]{2})?)?)?"
)


def _days(match: re.Match[str]) -> int | None:
    year, month, day = int(match[1]), int(match[2]), int(match[3])
    if not 1 <= month <= 12 or not 1 <= day <= _month_length(year, month):
        return None
    if 1 <= year <= 9999:
        return date(year, month, day).toordinal() - _EPOCH
    return _days_from_civil(year, month, day)


def _micros(text: str, *, with_zone: bool) -> int | None:
    match = _DATE_TIME.fullmatch(text)
    days = None if match is None else _days(match)
    if match is None or days is None:
        return None
    hour, minute, second = int(match[4] or 0), int(match[5] or 0), int(match[6] or 0)
    offset = _zone_seconds(match[8]) if with_zone else 0
    if hour > 23 or minute > 59 or second > 59 or offset is None:
        return None
    fraction = int((match[7] or "0")[:6].ljust(6, "0"))
    seconds = hour * 3600 + minute * 60 + second - offset
    return days * MICROS_PER_DAY + seconds * MICROS_PER_SECOND + fraction


def _zone_seconds(zone: str | None) -> int | None:
    if zone is None or zone[0] not in "+-":
        return 0
    hours, _, minutes = zone[1:].partition(":")
    if len(hours) > 2:
        hours, minutes = hours[:-2], hours[-2:]
    if int(hours) > 18 or int(minutes or 0) > 59:
        return None
    seconds = int(hours) * 3600 + int(minutes or 0) * 60
    return -seconds if zone[0] == "-" else seconds


def _clock(seconds: int) -> str:
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def _month_length(year: int, month: int) -> int:
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def _days_from_civil(year: int, month: int, day: int) -> int:
    """The proleptic Gregorian calendar, in years of 400 that all have the same length."""
    cycles, year_of_cycle = divmod(year - 1, 400)
    return cycles * 146_097 + date(year_of_cycle + 1, month, day).toordinal() - _EPOCH


def _civil(days: int) -> tuple[int, int, int]:
    cycles, day_of_cycle = divmod(days + _EPOCH - 1, 146_097)
    value = date.fromordinal(day_of_cycle + 1)
    return value.year + cycles * 400, value.month, value.day
