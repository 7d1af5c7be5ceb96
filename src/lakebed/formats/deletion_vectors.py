"""The bytes of deletion vectors (PROTOCOL: Deletion Vector Format, Deletion Vector File Storage
Format).

A vector is a set of row indexes of one data file. Its bytes are a 64-bit Roaring bitmap behind a
magic number, in the log itself or in a file that packs many vectors, each with a checksum.
"""

from __future__ import annotations

import struct
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial

import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap, BitMap64

from lakebed.errors import DataFileError, InvalidArgumentError
from lakebed.spec.actions import DeletionVector
from lakebed.spec.limits import FILE_ROWS
from lakebed.spec.vector_descriptors import inline_data, is_inline, log_path

FILE_VERSION = 1
PORTABLE_MAGIC = 1681511377
# What delta-spark wrote before the portable format was standardised. The protocol's example of an
# inline vector is in this format, its numbers in big endian order.
NATIVE_MAGIC = 1681511376

GetRange = Callable[[int, int], bytes]
"""Reads `length` bytes of one file from `start`; short at the end of the file."""


class RowIndexSet:
    """An immutable set of row indexes of one data file."""

    def __init__(self, bitmap: BitMap64 | None = None) -> None:
        self._bitmap = BitMap64() if bitmap is None else bitmap

    @classmethod
    def from_indexes(cls, indexes: Iterable[int] | pa.Array | pa.ChunkedArray) -> RowIndexSet:
        """A set of the given indexes, in any order; Arrow integers are taken without a loop."""
        try:
            if isinstance(indexes, (pa.Array, pa.ChunkedArray)):
                indexes = _as_array(indexes)
            bitmap = BitMap64(indexes)
        except (OverflowError, TypeError, pa.ArrowException) as error:
            raise InvalidArgumentError(f"row indexes are whole numbers ({error})") from error
        if bitmap and bitmap.max() > _MAX_INDEX:
            raise InvalidArgumentError(f"row indexes are between 0 and {_MAX_INDEX}")
        return cls(bitmap)

    @classmethod
    def from_bitmaps(cls, bitmaps: Iterable[tuple[int, bytes]]) -> RowIndexSet:
        """The union of 32-bit bitmaps, each with the upper 32 bits of its indexes beside it."""
        parts: dict[int, BitMap] = {}
        for upper, data in bitmaps:
            bitmap = BitMap.deserialize(data)
            parts[upper] = parts[upper] | bitmap if upper in parts else bitmap
        return cls(_joined(parts))

    @property
    def cardinality(self) -> int:
        return len(self._bitmap)

    @property
    def end(self) -> int:
        """One after the last row."""
        return int(self._bitmap.max()) + 1 if self._bitmap else 0

    def to_arrow(self) -> pa.Int64Array:
        """The indexes in ascending order."""
        return _int64(self._sorted)

    def keep_mask(self, num_rows: int, start: int = 0) -> pa.BooleanArray:
        """For rows `start` to `start + num_rows` of the data file: is each one still there?"""
        if num_rows <= _MASK_ROWS:
            return self._keep_mask(num_rows, start)
        pieces = range(start, start + num_rows, _MASK_ROWS)
        ends = [min(each + _MASK_ROWS, start + num_rows) for each in pieces]
        masks = [self._keep_mask(end - each, each) for each, end in zip(pieces, ends, strict=True)]
        return pa.concat_arrays(masks)

    def _keep_mask(self, num_rows: int, start: int) -> pa.BooleanArray:
        if len(self) > _MASK_ROWS:
            # As an array they take eight bytes each: only those that are asked for.
            part = self._bitmap & BitMap64(range(start, start + num_rows))
            deleted = pc.subtract(_int64(part.to_array()), pa.scalar(start, pa.int64()))
            return _mask_without(deleted, num_rows)
        low = bisect_left(self._sorted, start)
        high = bisect_left(self._sorted, start + num_rows, low)
        deleted = pc.subtract(self.to_arrow()[low:high], pa.scalar(start, pa.int64()))
        return _mask_without(deleted, num_rows)

    def has_any(self, start: int, end: int) -> bool:
        """Whether one of the rows from `start` to before `end` is among them."""
        place = bisect_left(self._sorted, start)
        return place < len(self._sorted) and self._sorted[place] < end

    def union(self, other: RowIndexSet) -> RowIndexSet:
        return RowIndexSet(self._bitmap | other._bitmap)

    def difference(self, other: RowIndexSet) -> RowIndexSet:
        return RowIndexSet(self._bitmap - other._bitmap)

    def __contains__(self, index: int) -> bool:
        return 0 <= index <= _MAX_INDEX and index in self._bitmap

    def __len__(self) -> int:
        return self.cardinality

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RowIndexSet) and self._bitmap == other._bitmap

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"RowIndexSet({self.cardinality} rows)"

    @cached_property
    def _sorted(self) -> array[int]:
        return self._bitmap.to_array()


@dataclass(frozen=True)
class StoredVector:
    """Where a vector is in the file that `write_vectors` made."""

    offset: int
    size_in_bytes: int
    cardinality: int


def read_vector(
    vector: DeletionVector,
    open_file: Callable[[str], GetRange],
    *,
    file: str | None = None,
    num_rows: int | None = None,
) -> RowIndexSet:
    """The rows that a descriptor of the log deletes.

    `open_file` gets the vector's file in the form of `add.path` and gives a reader of ranges; it
    is not called for an inline vector. `file` names the data file in errors, `num_rows` is how many
    rows it has, if that is known: a vector of a few bytes may mark any number, and is refused if it
    marks others.
    """
    path = None if is_inline(vector) else log_path(vector)
    name = file or "inline deletion vector"
    if num_rows is not None and vector.cardinality > num_rows:
        raise _damaged(name, f"it deletes {vector.cardinality} rows, the file has {num_rows}")
    if vector.cardinality > FILE_ROWS:
        raise _damaged(name, f"it deletes {vector.cardinality} rows, at most {FILE_ROWS} are read")
    if path is None:
        rows = decode_bitmap(inline_data(vector), file=name)
        rows = _with_cardinality(rows, vector.cardinality, name)
    else:
        rows = read_stored(vector, open_file(path), file=path)
    if num_rows is not None and rows.end > num_rows:
        raise _damaged(name, f"it deletes row {rows.end - 1}, the file has {num_rows} rows")
    return rows


def read_stored(vector: DeletionVector, source: GetRange | bytes, *, file: str) -> RowIndexSet:
    """One vector out of its file, after checking size, checksum and cardinality."""
    start = vector.offset or 0
    # The first vector follows the version byte: one read then gets and checks both.
    extra = 1 if start == 1 else 0
    length = 4 + vector.size_in_bytes + 4
    raw = _read(source, start - extra, length + extra)
    if extra and raw[:1] != bytes([FILE_VERSION]):
        raise _damaged(file, f"the file's format version is not {FILE_VERSION}")
    data = _checked_data(raw[extra:], vector, file)
    return _with_cardinality(decode_bitmap(data, file=file), vector.cardinality, file)


def write_vectors(sets: Iterable[RowIndexSet]) -> tuple[bytes, list[StoredVector]]:
    """The content of one file that holds all the sets, and where each of them is in it."""
    content = bytearray([FILE_VERSION])
    stored = []
    for rows in sets:
        data = encode_bitmap(rows)
        stored.append(StoredVector(len(content), len(data), rows.cardinality))
        content += struct.pack(">i", len(data)) + data + struct.pack(">I", zlib.crc32(data))
    return bytes(content), stored


def encode_bitmap(rows: RowIndexSet) -> bytes:
    """The portable format, with runs where they are smaller."""
    bitmap = rows._bitmap.copy()
    bitmap.run_optimize()
    return struct.pack("<i", PORTABLE_MAGIC) + bitmap.serialize()


def decode_bitmap(data: bytes, *, file: str) -> RowIndexSet:
    """The set in `data`, in either format; DataFileError names `file` if the bytes are damaged."""
    decode = _DECODERS.get(data[:4])
    if decode is None:
        raise _damaged(file, f"its magic number {data[:4].hex()} is unknown")
    try:
        bitmap = decode(data[4:])
    except (ValueError, IndexError, struct.error) as error:
        raise _damaged(file, f"its bitmap cannot be decoded ({error})") from error
    if bitmap and bitmap.max() > _MAX_INDEX:
        raise _damaged(file, "it has a row index over 63 bits")
    return RowIndexSet(bitmap)


_MAX_INDEX = 2**63 - 1
_MASK_ROWS = 1 << 24


def _decode_native(data: bytes, order: str) -> BitMap64:
    """A count, then for each value of the upper 32 bits from 0 a bitmap behind its length."""
    (count,) = struct.unpack_from(f"{order}i", data)
    if count < 0:
        raise ValueError(f"it has {count} buckets")
    position, parts = 4, {}
    for key in range(count):
        (size,) = struct.unpack_from(f"{order}i", data, position)
        position += 4
        if not 0 <= size <= len(data) - position:
            raise ValueError(f"bucket {key} is cut off")
        parts[key] = BitMap.deserialize(data[position : position + size])
        position += size
    return _joined(parts)


def _joined(parts: Mapping[int, BitMap]) -> BitMap64:
    """One bitmap, of one for each value of the upper 32 bits."""
    portable = [struct.pack("<q", len(parts))]
    for key in sorted(parts):
        portable.append(struct.pack("<i", key) + parts[key].serialize())
    return BitMap64.deserialize(b"".join(portable))


_DECODERS: dict[bytes, Callable[[bytes], BitMap64]] = {
    struct.pack("<i", PORTABLE_MAGIC): BitMap64.deserialize,
    struct.pack("<i", NATIVE_MAGIC): partial(_decode_native, order="<"),
    struct.pack(">i", NATIVE_MAGIC): partial(_decode_native, order=">"),
}


def _checked_data(raw: bytes, vector: DeletionVector, file: str) -> bytes:
    size = vector.size_in_bytes
    if len(raw) < size + 8:
        raise _damaged(file, f"the file ends before the vector at offset {vector.offset}")
    (stored_size,) = struct.unpack_from(">i", raw)
    if stored_size != size:
        raise _damaged(file, f"its size is {stored_size}, the log says {size}")
    data = raw[4 : 4 + size]
    (checksum,) = struct.unpack_from(">I", raw, 4 + size)
    if zlib.crc32(data) != checksum:
        raise _damaged(file, "its checksum does not match")
    return data


def _with_cardinality(rows: RowIndexSet, cardinality: int, file: str) -> RowIndexSet:
    if rows.cardinality != cardinality:
        raise _damaged(file, f"it deletes {rows.cardinality} rows, the log says {cardinality}")
    return rows


def _read(source: GetRange | bytes, start: int, length: int) -> bytes:
    if isinstance(source, bytes):
        return source[start : start + length]
    return source(start, length)


def _damaged(file: str, reason: str) -> DataFileError:
    return DataFileError(
        f"the deletion vector is damaged: {reason}",
        file=file,
        hint="Rows it deletes are unknown; restore the file or an earlier version of the table.",
    )


def _as_array(indexes: pa.Array | pa.ChunkedArray) -> array[int]:
    result = array("Q")
    chunks = indexes.chunks if isinstance(indexes, pa.ChunkedArray) else [indexes]
    for chunk in chunks:
        if chunk.null_count:
            raise InvalidArgumentError("a row index is null")
        values = pc.cast(chunk, pa.int64())
        start, length = values.offset * 8, len(values) * 8
        if length:
            result.frombytes(values.buffers()[1].slice(start, length).to_pybytes())
    return result


def _int64(values: array[int]) -> pa.Int64Array:
    return pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(values)])


def _mask_without(deleted: pa.Int64Array, num_rows: int) -> pa.BooleanArray:
    """True for every row but the deleted ones, by decoding alternating runs.

    The cost follows the number of deleted rows and the bits of the output; nothing is done for
    each row.
    """
    # Every deleted row ends a run of kept rows before it and is a run of its own.
    ends = pa.concat_arrays([_pairs(deleted), pa.array([num_rows], pa.int32())])
    kept = pa.Array.from_buffers(pa.bool_(), len(ends), [None, _alternating(len(ends))])
    # Neighbours leave an empty run between them, which run-end encoding does not allow.
    starts = pa.concat_arrays([pa.array([0], pa.int32()), ends[:-1]])
    not_empty = pc.greater(ends, starts)
    runs = pa.RunEndEncodedArray.from_arrays(ends.filter(not_empty), kept.filter(not_empty))
    return pc.run_end_decode(runs)


def _pairs(deleted: pa.Int64Array) -> pa.Int32Array:
    """d, d + 1 for every deleted row d: both halves of a 64-bit number, read as 32-bit ones."""
    both = pc.add(pc.multiply(deleted, (1 << 32) + 1), 1 << 32)
    return pa.Array.from_buffers(pa.int32(), 2 * len(both), [None, both.buffers()[1]])


def _alternating(length: int) -> pa.Buffer:
    return pa.py_buffer(b"\x55" * (length // 8 + 1))
