"""How much of what is new a batch takes: `maxFilesPerTrigger` and `maxBytesPerTrigger`.

Both are soft: a file is admitted while there is room for any, whatever its size. Counting is that
of delta-spark, also where it is odd, because the offsets follow from it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lakebed.streaming.source.indexed_file import IndexedFile

MAX_FILES = 1000
"""Of a batch, where neither option is given."""
_ANY_NUMBER = 2**31 - 9
_ANY_SIZE = 2**63 - 1


@dataclass(frozen=True)
class Limit:
    """What one batch may take; without a number the option of the stream counts."""

    max_files: int | None = None
    max_bytes: int | None = None

    def or_else(self, other: Limit) -> Limit:
        files = other.max_files if self.max_files is None else self.max_files
        return Limit(files, other.max_bytes if self.max_bytes is None else self.max_bytes)


class Admission:
    """The room of one batch, which shrinks with what is admitted."""

    def __init__(self, limit: Limit) -> None:
        few = MAX_FILES if limit.max_bytes is None else _ANY_NUMBER
        self._files = few if limit.max_files is None else limit.max_files
        self._bytes = _ANY_SIZE if limit.max_bytes is None else limit.max_bytes
        self._has_begun = False

    @property
    def has_room(self) -> bool:
        return self._files > 0 and self._bytes > 0

    def admits(self, file: IndexedFile) -> bool:
        """Markers always fit, so that a batch may pass any number of commits without data."""
        self._has_begun = True
        if file.size is None:
            return True
        had_room = self.has_room
        self._files -= 1
        self._bytes -= file.size
        return had_room

    def admits_all(self, files: Iterable[IndexedFile]) -> bool:
        """For commits whose files must not be split. The first one of a batch always fits.

        Markers count as files here.
        """
        some = list(files)
        if not some:
            return True
        size = sum(file.size or 0 for file in some)
        fits = not self._has_begun or (self._files >= len(some) and self._bytes >= size)
        self._has_begun = True
        self._files -= len(some)
        self._bytes -= size
        return fits
