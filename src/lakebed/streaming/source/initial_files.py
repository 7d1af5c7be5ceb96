"""The files of the version that a stream begins with, in the order that their numbers come from.

A stream reads them over many batches, so little of a large table stays in memory: where each file
stands, and its size. Everything else is read from the log for some files at a time.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.formats.file_actions import adds_from_table
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Add
from lakebed.streaming.source.indexed_file import IndexedFile
from lakebed.streaming.source.offset import BEGIN, END


class InitialFiles:
    """Numbered by modification time and path, as the log has it, from 0."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        files = snapshot.load_files(["modificationTime", "path", "size"])
        sizes, times = files.column("size"), files.column("modificationTime")
        keys = pa.table({"time": times, "path": files.column("path")})
        order = [("time", "ascending"), ("path", "ascending")]
        self._order = pc.sort_indices(keys, sort_keys=order)
        self._sizes = sizes.take(self._order).combine_chunks()
        self._block: tuple[int, pa.Table] | None = None

    def __len__(self) -> int:
        return len(self._order)

    def size_after(self, index: int) -> int:
        """Bytes in the files behind one of them."""
        return int(pc.sum(self._sizes.slice(max(index + 1, 0))).as_py() or 0)

    def sizes(self, after: int) -> Iterator[IndexedFile]:
        """The files and markers behind `after`, without their actions."""
        version = self.snapshot.version
        if after < BEGIN:
            yield IndexedFile(version, BEGIN)
        start = max(after + 1, 0)
        while start < len(self):
            some = self._sizes.slice(start, _SIZES).to_pylist()
            for index, size in enumerate(some, start):
                yield IndexedFile(version, index, size)
            start += len(some)
        yield self.end

    @property
    def end(self) -> IndexedFile:
        return IndexedFile(self.snapshot.version, END)

    def files(self, after: int, last: int) -> Iterator[IndexedFile]:
        """The files behind `after`, up to and including `last`."""
        version, index = self.snapshot.version, max(after + 1, 0)
        end = min(last + 1, len(self))
        while index < end:
            adds = self._read(index, end)
            for add in adds:
                yield IndexedFile(version, index, add.size, add)
                index += 1

    def _read(self, start: int, end: int) -> list[Add]:
        """Some of them, from `start` on."""
        first = start - start % _BLOCK
        if self._block is None or self._block[0] != first:
            places = self._order.slice(first, _BLOCK)
            self._block = (first, self.snapshot.load_files(_FIELDS, places))
        return adds_from_table(self._block[1].slice(start - first, min(end - start, _ADDS)))


_FIELDS = (
    "path",
    "partitionValues",
    "size",
    "modificationTime",
    "dataChange",
    "stats",
    "deletionVector",
    "baseRowId",
    "defaultRowCommitVersion",
)
_SIZES = 1024
_ADDS = 1024
_BLOCK = 32_768
"""Reading it costs as much as reading these columns of the whole table."""
