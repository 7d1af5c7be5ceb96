"""Typed reading of the fields of a decoded JSON object, with errors that name the field."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any, TypeVar

from lakebed.errors import LogCorruptedError

Json = Mapping[str, Any]
T = TypeVar("T")


def broken(action: str, name: str, wanted: str) -> LogCorruptedError:
    return LogCorruptedError(f"the {action} action has no valid {name!r}: expected {wanted}")


def typed(raw: Json, action: str, name: str, kind: type[T]) -> T | None:
    value = raw.get(name)
    if value is None or isinstance(value, kind):
        return value
    raise broken(action, name, kind.__name__)


def text(raw: Json, action: str, name: str, default: str) -> str:
    value = typed(raw, action, name, str)
    return default if value is None else value


def required(raw: Json, action: str, name: str, kind: type[T]) -> T:
    value = typed(raw, action, name, kind)
    if value is None:
        raise broken(action, name, kind.__name__)
    return value


def integer(raw: Json, action: str, name: str) -> int | None:
    value = raw.get(name)
    # A bool is an int to Python, and some writers put whole numbers as 1.0.
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        if value is not None and not -(2**63) <= value < 2**63:
            raise broken(action, name, "a 64-bit integer")
        return value
    raise broken(action, name, "an integer")


def integer32(raw: Json, action: str, name: str) -> int | None:
    value = integer(raw, action, name)
    if value is not None and not -(2**31) <= value < 2**31:
        raise broken(action, name, "a 32-bit integer")
    return value


def required_integer32(raw: Json, action: str, name: str) -> int:
    value = integer32(raw, action, name)
    if value is None:
        raise broken(action, name, "an integer")
    return value


def required_integer(raw: Json, action: str, name: str) -> int:
    value = integer(raw, action, name)
    if value is None:
        raise broken(action, name, "an integer")
    return value


def string_map(raw: Json, action: str, name: str) -> dict[str, Any] | None:
    value = typed(raw, action, name, dict)
    if value is None:
        return None
    for entry in value.values():
        if entry is not None and not isinstance(entry, str):
            raise broken(action, name, "a map of strings")
    return dict(value)


def names(raw: Json, name: str) -> tuple[str, ...] | None:
    value = typed(raw, "protocol", name, list)
    if value is None:
        return None
    if not all(isinstance(entry, str) for entry in value):
        raise broken("protocol", name, "a list of strings")
    return tuple(value)


def extra(raw: Json, known: Container[str]) -> Mapping[str, Any]:
    return {name: value for name, value in raw.items() if name not in known}


def compact(raw: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in raw.items() if value is not None}
