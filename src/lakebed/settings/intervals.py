"""Durations in table properties, such as `interval 30 days`, as Spark's intervals read them."""

from __future__ import annotations

import re

_MICROS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
_PART = re.compile(r"([+-]?)\s*([0-9]{1,18})(?:\.([0-9]{1,9}))?\s+([a-z]+)\s*")


def parse_interval(text: str) -> int:
    """Milliseconds. The word `interval` may be left out; parts add up: `1 day 12 hours`.

    Raises ValueError with the reason; whoever knows the property turns it into Lakebed's error.
    """
    lowered = text.strip().lower()
    rest = lowered[len("interval") :].lstrip() if lowered.startswith("interval ") else lowered
    if not rest:
        raise ValueError("the interval is empty")
    micros = 0
    while rest:
        part = _PART.match(rest)
        if part is None:
            raise ValueError(f"{rest!r} is not a number and a unit")
        micros += _part_micros(part)
        rest = rest[part.end() :]
    if micros < 0:
        raise ValueError("the interval is negative")
    return micros // 1_000


def _part_micros(part: re.Match[str]) -> int:
    sign, whole, fraction, unit = part.groups()
    unit = unit.removesuffix("s")
    if unit in ("month", "year"):
        raise ValueError("months and years have no fixed length; write 365 days for a year")
    if unit not in _MICROS:
        raise ValueError(f"{unit!r} is not a unit of time")
    if fraction and unit != "second":
        raise ValueError("only seconds may have a fraction")
    micros = int(whole) * _MICROS[unit] + int((fraction or "0")[:6].ljust(6, "0"))
    return -micros if sign == "-" else micros
