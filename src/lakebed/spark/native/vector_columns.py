"""Deletion vectors while Spark reads (PROTOCOL: Deletion Vectors, Reader Requirements).

Each file's deleted rows travel to the tasks as a bitmap in a hidden partition column, and a native
expression looks up the bit of each row's index: no join, and the scan stays vectorised. Files
without a vector have null there.

Every lookup is clamped to the bits that exist. Whatever the row index and the order in which Spark
evaluates the parts, no memory outside of the bitmap is read.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F

from lakebed.errors import DataFileError, ObjectNotFoundError
from lakebed.formats.deletion_vectors import GetRange, RowIndexSet, read_vector
from lakebed.spark.internals.classic_columns import (
    BYTE_ARRAY_OFFSET,
    as_integer,
    get_long,
    is_bit_set,
    long,
    never_null,
    smaller,
    total,
)
from lakebed.spark.internals.jvm import Jvm
from lakebed.spec.actions import DeletionVector
from lakebed.spec.schema import BINARY, INTEGER, StructField
from lakebed.storage.store import Store

HIDDEN = "__lakebed_kept_rows"
"""The name of the hidden partition column."""

MOST_FLAT_BYTES = 64 << 20
"""Bitmaps of more than this in all are stored in blocks, which takes longer to look up."""


class Bitmaps(ABC):
    """How the rows that a file keeps are written as bytes, and looked up in an expression."""

    @abstractmethod
    def encode(self, deleted: RowIndexSet) -> bytes: ...

    @abstractmethod
    def is_set(self, jvm: Jvm, bitmap: Column, row: Column) -> Column: ...

    def is_kept(self, jvm: Jvm, bitmap: Column, row: Column) -> Column:
        """The condition that a row is not deleted."""
        known = never_null(jvm, bitmap), never_null(jvm, row)
        return bitmap.isNull() | self.is_set(jvm, *known)


class FlatBitmaps(Bitmaps):
    """One bit a row up to the last deleted one, then 64 bits for all rows after it."""

    def encode(self, deleted: RowIndexSet) -> bytes:
        size = 8 * -(-deleted.end // 64)
        return _kept_bits(deleted, size) + b"\xff" * 8

    def is_set(self, jvm: Jvm, bitmap: Column, row: Column) -> Column:
        bits = F.shiftleft(F.octet_length(bitmap), 3).cast("long")
        place = smaller(jvm, row, total(jvm, bits, long(-1)))
        return is_bit_set(jvm, bitmap, long(BYTE_ARRAY_OFFSET), as_integer(jvm, place))


class BlockBitmaps(Bitmaps):
    """Blocks of 4,096 rows, of which those without deleted rows are one and the same.

    All numbers are longs; offsets count from the start of the Java array, its header included:

        last block | offset of block 0 | ... | offset of the last block | blocks of 512 bytes

    The last block is for all rows after the last deleted one.
    """

    def encode(self, deleted: RowIndexSet) -> bytes:
        last = -(-deleted.end // _BLOCK_ROWS)
        bits = _kept_bits(deleted, last * _BLOCK_BYTES)
        first_offset = BYTE_ARRAY_OFFSET + 8 * (last + 2)
        offsets, blocks = [], [_ALL_KEPT]
        for start in range(0, len(bits), _BLOCK_BYTES):
            block = bits[start : start + _BLOCK_BYTES]
            is_full = block == _ALL_KEPT
            offsets.append(first_offset + (0 if is_full else _BLOCK_BYTES * len(blocks)))
            if not is_full:
                blocks.append(block)
        head = struct.pack(f"<{last + 2}q", last, *offsets, first_offset)
        return b"".join([head, *blocks])

    def is_set(self, jvm: Jvm, bitmap: Column, row: Column) -> Column:
        last = get_long(jvm, bitmap, long(BYTE_ARRAY_OFFSET))
        block = smaller(jvm, F.shiftright(row, _BLOCK_BITS), last)
        place = total(jvm, F.shiftleft(block, 3), long(BYTE_ARRAY_OFFSET + 8))
        index = as_integer(jvm, row.bitwiseAND(long(_BLOCK_ROWS - 1)))
        return is_bit_set(jvm, bitmap, get_long(jvm, bitmap, place), index)


class VectorReader:
    """Reads the vectors of files as bitmaps, and keeps some of these for the next listing."""

    def __init__(self, store: Store, bitmaps: Bitmaps) -> None:
        self._store = store
        self._bitmaps = bitmaps
        self._known: dict[str, bytes] = {}
        self._size = 0

    def read(self, vectors: Sequence[dict[str, Any] | None], files: Sequence[str]) -> pa.Array:
        """A binary array with the bitmap of each file; null for those without a vector."""
        if self._store.cheap_probes:
            return pa.array(map(self._bitmap, vectors, files), pa.binary())
        with ThreadPoolExecutor(_THREADS, thread_name_prefix="lakebed-vectors") as pool:
            return pa.array(pool.map(self._bitmap, vectors, files), pa.binary())

    def _bitmap(self, raw: dict[str, Any] | None, file: str) -> bytes | None:
        if raw is None:
            return None
        vector = DeletionVector.parse(raw)
        bitmap = self._known.get(vector.unique_id)
        if bitmap is None:
            bitmap = self._bitmaps.encode(self._read(vector, file))
            if self._size + len(bitmap) <= MOST_FLAT_BYTES:
                self._known[vector.unique_id] = bitmap
                self._size += len(bitmap)
        return bitmap

    def _read(self, vector: DeletionVector, file: str) -> RowIndexSet:
        try:
            return read_vector(vector, self._open, file=file)
        except ObjectNotFoundError as error:
            raise DataFileError(
                "the deletion vector of this file is gone, so its deleted rows are not known",
                file=file,
                hint="VACUUM may have removed it; read a newer version or restore the file",
            ) from error

    def _open(self, reference: str) -> GetRange:
        home, path = self._store.resolve(reference)
        return lambda start, length: home.get_range(path, start, length)


class VectorColumn(ABC):
    """The hidden partition column that tells the tasks which rows of a file are kept."""

    field: StructField

    @abstractmethod
    def values(
        self, vectors: Sequence[dict[str, Any] | None], files: Sequence[str]
    ) -> pa.Array: ...

    @abstractmethod
    def bitmap(self) -> Column:
        """The bitmap of the file that a row is from."""


class BitmapColumn(VectorColumn):
    """The bitmap itself. Read in batches it is one reference for all rows of a batch."""

    field = StructField(HIDDEN, BINARY)

    def __init__(self, reader: VectorReader) -> None:
        self._reader = reader

    def values(self, vectors: Sequence[dict[str, Any] | None], files: Sequence[str]) -> pa.Array:
        return self._reader.read(vectors, files)

    def bitmap(self) -> Column:
        return F.col(HIDDEN)


class NumberColumn(VectorColumn):
    """A number that leads to the bitmap in a list that the plan itself carries.

    Where Spark cannot read in batches it copies all partition values into every row: a number
    can be copied, a bitmap cannot.
    """

    field = StructField(HIDDEN, INTEGER)

    def __init__(
        self,
        reader: VectorReader,
        vectors: Sequence[dict[str, Any] | None],
        files: Sequence[str],
    ) -> None:
        found = [(raw, file) for raw, file in zip(vectors, files, strict=True) if raw is not None]
        self._bitmaps = reader.read([raw for raw, _ in found], [file for _, file in found])
        self._numbers = {_key(raw, file): number for number, (raw, file) in enumerate(found)}

    def values(self, vectors: Sequence[dict[str, Any] | None], files: Sequence[str]) -> pa.Array:
        pairs = zip(vectors, files, strict=True)
        numbers = [None if raw is None else self._numbers[_key(raw, file)] for raw, file in pairs]
        return pa.array(numbers, pa.int32())

    def bitmap(self) -> Column:
        bitmaps = [F.lit(bytearray(bitmap)) for bitmap in self._bitmaps.to_pylist()]
        return F.get(F.array(*bitmaps), F.col(HIDDEN))


def _key(raw: dict[str, Any], file: str) -> tuple[str, str]:
    """A snapshot that is in no log may have a file with several vectors."""
    return file, DeletionVector.parse(raw).unique_id


_THREADS = 16
_BLOCK_BITS = 12
_BLOCK_ROWS = 1 << _BLOCK_BITS
_BLOCK_BYTES = _BLOCK_ROWS // 8
_ALL_KEPT = b"\xff" * _BLOCK_BYTES


def _kept_bits(deleted: RowIndexSet, size: int) -> bytes:
    """So many bytes with a bit for each row: Arrow and Java count bits alike."""
    if not size:
        return b""
    buffer: bytes = deleted.keep_mask(8 * size).buffers()[1].to_pybytes()
    return buffer[:size]
