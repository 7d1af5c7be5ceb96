"""The files of a version with the numbers that offsets refer to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from lakebed.spec.actions import Add, AddCdc, Remove
from lakebed.streaming.source.offset import BEGIN, END, SCHEMA_CHANGE

FileAction = Add | Remove | AddCdc


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """A file, or a marker: `BEGIN`, `END` or `SCHEMA_CHANGE`, which has no size.

    While only the next offset is looked for, a file may come without its action.
    """

    version: int
    index: int
    size: int | None = None
    action: FileAction | None = None

    @property
    def place(self) -> tuple[int, int]:
        return self.version, self.index


def numbered(version: int, actions: Iterable[FileAction]) -> Iterator[IndexedFile]:
    for index, action in enumerate(actions):
        yield IndexedFile(version, index, action.size or 0, action)


def between_markers(
    version: int, files: Iterable[IndexedFile], *, is_barrier: bool = False
) -> Iterator[IndexedFile]:
    yield IndexedFile(version, BEGIN)
    if is_barrier:
        yield IndexedFile(version, SCHEMA_CHANGE)
    yield from files
    yield IndexedFile(version, END)
