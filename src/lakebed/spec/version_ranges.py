"""Sets of versions as short text, such as `0-5,7`: what VACUUM leaves in the history."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from lakebed.errors import InvalidArgumentError


def spans_of(versions: Iterable[int]) -> list[tuple[int, int]]:
    """First and last version of each stretch without a hole, in order."""
    spans: list[tuple[int, int]] = []
    for version in sorted(set(versions)):
        if spans and spans[-1][1] == version - 1:
            spans[-1] = (spans[-1][0], version)
        else:
            spans.append((version, version))
    return spans


def ranges_text(versions: Iterable[int]) -> str:
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in spans_of(versions))


class VersionRanges:
    """The versions that a text names; asking for one costs nothing, however long the ranges are."""

    def __init__(self, text: str) -> None:
        if text and not _TEXT.fullmatch(text):
            raise InvalidArgumentError(f"{text!r} names no versions", hint="write it as 0-5,7")
        parts = (part.partition("-") for part in text.split(",") if part)
        self._spans = [(int(first), int(last or first)) for first, _, last in parts]

    def __contains__(self, version: int) -> bool:
        return any(first <= version <= last for first, last in self._spans)

    def __iter__(self) -> Iterator[int]:
        for first, last in self._spans:
            yield from range(first, last + 1)


_TEXT = re.compile(r"\d{1,18}(?:-\d{1,18})?(?:,\d{1,18}(?:-\d{1,18})?)*", re.ASCII)
