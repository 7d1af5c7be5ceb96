"""A remote object as a seekable file, read by ranges.

What reads it is pyarrow's Parquet reader, which knows its ranges exactly: the footer, then whole
column chunks. So the end of the object comes with the first request, short reads are rounded up,
and long ones are split into parts that travel at the same time.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence

TAIL = 64 * 1024
"""Bytes fetched with the object's size: most footers fit."""
BLOCK = 64 * 1024
PART = 8 * 1024 * 1024

Ranges = Sequence[tuple[int, int]]


class RangedFile(io.RawIOBase):
    """`fetch` gives the bytes of several (start, length) ranges; `tail` ends the object."""

    def __init__(self, size: int, tail: bytes, fetch: Callable[[Ranges], list[bytes]]) -> None:
        self._size = size
        self._fetch = fetch
        self._position = 0
        self._kept = [(size - len(tail), tail), (0, b"")]

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = max(0, base + offset)
        return self._position

    def read(self, size: int | None = -1) -> bytes:
        rest = max(0, self._size - self._position)
        length = rest if size is None or size < 0 else min(size, rest)
        data = self._range(self._position, length) if length else b""
        self._position += len(data)
        return data

    def readall(self) -> bytes:
        return self.read()

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def _range(self, start: int, length: int) -> bytes:
        for offset, data in self._kept:
            if offset <= start and start + length <= offset + len(data):
                return data[start - offset : start - offset + length]
        if length >= BLOCK:
            return b"".join(self._fetch(_parts(start, length)))
        block = self._fetch([(start, min(BLOCK, self._size - start))])[0]
        self._kept[1] = (start, block)
        return block[:length]


def _parts(start: int, length: int) -> Ranges:
    end = start + length
    return [(at, min(PART, end - at)) for at in range(start, end, PART)]
