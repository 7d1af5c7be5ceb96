"""Which rows of which files a DataFrame has, as bitmaps.

On the native plane tasks make the bitmaps (`internals.executor_code`). Elsewhere rows are counted
in words of 64 by Spark's own aggregation, so what reaches the driver is at most a bit for each row
of the files and about twenty bytes for each row that is alone in its word. No row passes through
Python.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame

from lakebed.formats.deletion_vectors import RowIndexSet
from lakebed.spark.session.session_kind import functions_of

POSITION = "__lakebed_row"
"""The column with the index of a row in its file."""
FILE = "__lakebed_file"
"""The column with the number of the file that a row is in."""
WORD, BITS, SEEN = "__lakebed_word", "__lakebed_bits", "__lakebed_seen"


@dataclass(frozen=True)
class Positions:
    """Rows of files by the number of the file.

    `num_seen` is how often they came: more than there are if a row came twice. `sums` are totals of
    the columns that were asked for.
    """

    rows: Mapping[int, RowIndexSet]
    num_seen: int
    sums: Mapping[str, int]

    @property
    def num_rows(self) -> int:
        return sum(each.cardinality for each in self.rows.values())

    @property
    def has_doubles(self) -> bool:
        return self.num_seen > self.num_rows


def find_positions(frame: DataFrame, sums: Mapping[str, Column] | None = None) -> Positions:
    """The rows of a frame with the columns `FILE` and `POSITION`; runs one job."""
    asked = sums or {}
    found = words(frame, asked).toArrow()
    return Positions(
        _bitmaps(found),
        _total(found, SEEN),
        {name: _total(found, name) for name in asked},
    )


def words(frame: DataFrame, sums: Mapping[str, Column]) -> DataFrame:
    """The rows by file and word of 64 rows, with a bit for each; `SEEN` is how many came."""
    f = functions_of(frame)
    bit = f.expr(f"shiftleft(1L, CAST({POSITION} & 63 AS INT))")
    return frame.groupBy(f.col(FILE), f.shiftright(f.col(POSITION), 6).alias(WORD)).agg(
        f.bit_or(bit).alias(BITS),
        f.count(f.lit(1)).alias(SEEN),
        *[f.sum(column.cast("long")).alias(name) for name, column in sums.items()],
    )


def row_indexes(words: pa.Table | pa.RecordBatch) -> pa.ChunkedArray:
    """The numbers of all bits that are set, bit by bit over all words at once."""
    first = pc.shift_left(words.column(WORD).cast(pa.int64()), 6)
    bits = words.column(BITS).cast(pa.int64())
    found: list[pa.Array] = []
    for place in range(64):
        is_set = pc.not_equal(pc.bit_wise_and(bits, _word_of(place)), 0)
        some = pc.add(first.filter(is_set), place)
        found.extend(some.chunks if isinstance(some, pa.ChunkedArray) else [some])
    return pa.chunked_array(found, pa.int64())


def noted_positions(messages: Iterable[bytes], sums: Sequence[str]) -> Positions:
    """What tasks noted; `MarkedRows.java` says how it is written down."""
    bitmaps: dict[int, list[tuple[int, bytes]]] = {}
    seen, totals = 0, [0] * len(sums)
    for file, upper, numbers, bitmap in _records(messages, len(sums)):
        bitmaps.setdefault(file, []).append((upper, bitmap))
        seen += numbers[0]
        totals = [total + number for total, number in zip(totals, numbers[1:], strict=True)]
    rows = {file: RowIndexSet.from_bitmaps(parts) for file, parts in bitmaps.items()}
    return Positions(rows, seen, dict(zip(sums, totals, strict=True)))


def _records(
    messages: Iterable[bytes], num_sums: int
) -> Iterator[tuple[int, int, tuple[int, ...], bytes]]:
    head = struct.Struct(f">2i{1 + num_sums}qi")
    for message in messages:
        place = 0
        while place < len(message):
            file, upper, *numbers, length = head.unpack_from(message, place)
            place += head.size
            yield file, upper, tuple(numbers), message[place : place + length]
            place += length


def _total(table: pa.Table, column: str) -> int:
    return int(pc.sum(table.column(column)).as_py() or 0)


def _bitmaps(words: pa.Table) -> dict[int, RowIndexSet]:
    ordered = words.select([FILE, WORD, BITS]).sort_by([(FILE, "ascending")]).combine_chunks()
    files = ordered.column(FILE)
    result, start = {}, 0
    for entry in files.value_counts().to_pylist() if len(files) else []:
        rows = ordered.slice(start, entry["counts"])
        result[int(entry["values"])] = RowIndexSet.from_indexes(row_indexes(rows))
        start += entry["counts"]
    return result


def _word_of(place: int) -> pa.Scalar:
    return pa.scalar(1 << place if place < 63 else -(1 << 63), pa.int64())
