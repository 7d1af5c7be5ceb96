"""The kinds of values that settings, options and table properties have: flags, sizes, intervals.

A kind reads a text, or raises a ValueError with the reason. Who knows what the value is for turns
that into an error of Lakebed's, which names it and says what is allowed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

T_co = TypeVar("T_co", covariant=True)
U_co = TypeVar("U_co", covariant=True)


@dataclass(frozen=True)
class Kind(Generic[T_co]):
    """`allowed` ends the sentence "it must be ..."."""

    parse: Callable[[str], T_co]
    allowed: str


def number(low: int | None = None, high: int | None = None) -> Kind[int]:
    """A whole number between two bounds."""

    def parse(text: str) -> int:
        if not re.fullmatch(r"[+-]?[0-9]{1,19}", text):
            raise ValueError("not a whole number")
        value = int(text)
        if (low is not None and value < low) or (high is not None and value > high):
            raise ValueError("out of range")
        return value

    start = "" if low is None else f" of at least {low}"
    end = "" if high is None else f" and at most {high}"
    return Kind(parse, f"a whole number{start}{end}")


def size(low: int = 1) -> Kind[int]:
    """A number of bytes, with or without a unit."""

    def parse(text: str) -> int:
        match = _SIZE.fullmatch(text.strip())
        if match is None or int(match[1]) < low:
            raise ValueError("not a size")
        return int(match[1]) << (10 * " kmgtp".index((match[2] or " ").lower()))

    return Kind(parse, "a size, such as 128mb" if low else "0 or a size, such as 128mb")


def choice(*choices: str) -> Kind[str]:
    """One of some words, in any case; the value is spelled as here."""
    known = {each.lower(): each for each in choices}

    def parse(text: str) -> str:
        if text.lower() not in known:
            raise ValueError("not one of them")
        return known[text.lower()]

    return Kind(parse, " or ".join(filter(None, (", ".join(choices[:-1]), choices[-1]))))


def either(one: Kind[T_co], other: Kind[U_co]) -> Kind[T_co | U_co]:
    """What one of two kinds takes; the reason of a refusal is that of the second."""

    def parse(text: str) -> T_co | U_co:
        try:
            return one.parse(text)
        except ValueError:
            return other.parse(text)

    return Kind(parse, f"{one.allowed} or {other.allowed}")


def _flag(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError("not a boolean")
    return text.lower() == "true"


def _switch(text: str) -> bool:
    if text.lower() not in _SWITCH:
        raise ValueError("not a boolean")
    return _SWITCH[text.lower()]


def _share(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise ValueError("out of range")
    return value


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


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


_SIZE = re.compile(r"([0-9]{1,18})\s*(?:([kmgtp]?)b?)?", re.IGNORECASE)
_SWITCH = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
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

FLAG = Kind(_flag, "true or false")
SWITCH = Kind(_switch, "true or false")
"""Also 1 and 0, yes and no, as storage options take them."""
SHARE = Kind(_share, "a number from 0 to 1")
INTERVAL = Kind(parse_interval, "an interval of at most weeks, such as 'interval 30 days'")
"""In milliseconds."""
NAMES = Kind(_names, "a list of names with commas between them")
TEXT = Kind(str, "text")
