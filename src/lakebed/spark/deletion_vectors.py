"""Deletion vectors while Spark reads (PROTOCOL: Deletion Vectors, Reader Requirements).

Each file's deleted rows travel to the tasks as a bitmap in a hidden partition column, and a native
expression looks up the bit of each row's index: no join, and the scan stays vectorised. Files
without a vector have null there.

The bitmap has two levels, so that few deleted rows take few bytes. All numbers are longs:

    last block | offset of block 0 | ... | offset of the last block | blocks of 512 bytes

A block has one bit for each of 4,096 rows, set for rows that are kept. Offsets count from the start
of the Java array, header included. The last block is for all rows after the last deleted one, and
blocks in which no row is deleted are one and the same.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakebed.errors import DataFileError, ObjectNotFoundError
from lakebed.formats.deletion_vectors import GetRange, RowIndexSet, read_vector
from lakebed.spark.jvm import BYTE_ARRAY_OFFSET, Jvm
from lakebed.spec.actions import DeletionVector
from lakebed.spec.schema import BINARY, StructField
from lakebed.storage.store import Store

COLUMN = StructField("__lakebed_kept_rows", BINARY)
"""The hidden partition column. Its name begins like Spark's own hidden columns."""


def encode_kept_rows(deleted: RowIndexSet) -> bytes:
    """The bitmap of the rows that are kept."""
    indexes = deleted.to_arrow()
    num_rows = indexes[-1].as_py() + 1 if len(indexes) else 0
    last = -(-num_rows // _BLOCK_ROWS)
    bits = deleted.keep_mask(last * _BLOCK_ROWS) if last else None
    data = b"" if bits is None else bits.buffers()[1].to_pybytes()
    offsets, blocks = [], [_ALL_KEPT]
    start = BYTE_ARRAY_OFFSET + 8 * (last + 2)
    for place in range(0, last * _BLOCK_BYTES, _BLOCK_BYTES):
        block = data[place : place + _BLOCK_BYTES]
        if block == _ALL_KEPT:
            offsets.append(start)
        else:
            offsets.append(start + _BLOCK_BYTES * len(blocks))
            blocks.append(block)
    head = struct.pack(f"<{last + 2}q", last, *offsets, start)
    return head + b"".join(blocks)


def is_kept(jvm: Jvm, frame: DataFrame, bitmap: Column) -> Column:
    """The condition that a row is not deleted.

    The block is clamped to those that exist: whatever the row index and the order of evaluation,
    no memory outside of the bitmap is read.
    """
    # Not by name: the table may have a column called _metadata.
    row = frame.metadataColumn("_metadata").getField("row_index")
    last = jvm.get_long(bitmap, F.lit(BYTE_ARRAY_OFFSET).cast("long"))
    block = F.least(F.shiftright(row, _BLOCK_BITS), last)
    entry = F.shiftleft(block, 3) + F.lit(BYTE_ARRAY_OFFSET + 8).cast("long")
    word = jvm.get_long(bitmap, entry) + F.shiftright(row, 3).bitwiseAND(F.lit(_WORD_MASK))
    bits = jvm.get_long(bitmap, word)
    # The row's bit becomes the sign; Java shifts by the lowest six bits alone.
    shift = F.lit(63) - row.bitwiseAND(F.lit(63)).cast("int")
    return bitmap.isNull() | (_shift_left(bits, shift) < 0)


class VectorReader:
    """Reads the vectors of files and keeps the bitmaps for the next listing."""

    def __init__(self, store: Store, limit: int = 64 << 20) -> None:
        self._store = store
        self._limit = limit
        self._known: dict[str, bytes] = {}

    def bitmaps(self, vectors: Sequence[dict[str, Any] | None], names: Sequence[str]) -> pa.Array:
        """A binary array with the bitmap of each file; null for those without a vector."""
        if self._store.cheap_probes:
            return pa.array(map(self._bitmap, vectors, names), pa.binary())
        with ThreadPoolExecutor(_THREADS, thread_name_prefix="lakebed-vectors") as pool:
            return pa.array(pool.map(self._bitmap, vectors, names), pa.binary())

    def _bitmap(self, raw: dict[str, Any] | None, file: str) -> bytes | None:
        if raw is None:
            return None
        vector = DeletionVector.parse(raw)
        key = vector.unique_id
        if key not in self._known:
            bitmap = encode_kept_rows(self._read(vector, file))
            if sum(map(len, self._known.values())) + len(bitmap) > self._limit:
                return bitmap
            self._known[key] = bitmap
        return self._known[key]

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


_THREADS = 16
_BLOCK_BITS = 12
_BLOCK_ROWS = 1 << _BLOCK_BITS
_BLOCK_BYTES = _BLOCK_ROWS // 8
_ALL_KEPT = b"\xff" * _BLOCK_BYTES
_WORD_MASK = _BLOCK_BYTES - 8


def _shift_left(bits: Column, by: Column) -> Column:
    return F.call_function("shiftleft", bits, by)
