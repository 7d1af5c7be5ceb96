"""Which comparisons are in the short form, a few minutes that run wherever changes land."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import Any, Protocol

import pytest


class Named(Protocol):
    @property
    def name(self) -> str: ...


def in_short(cases: Iterable[Named], every: int) -> list[Any]:
    """As parameters; about every so manieth is marked. Which ones depends on their names alone, so
    a new case leaves the others as they were."""
    return [
        pytest.param(each, marks=pytest.mark.short) if _number(each) % every == 0 else each
        for each in cases
    ]


def these_in_short(cases: Iterable[Named], *names: str) -> list[Any]:
    return [
        pytest.param(each, marks=pytest.mark.short) if each.name in names else each
        for each in cases
    ]


def _number(case: Named) -> int:
    return zlib.crc32(case.name.encode())
