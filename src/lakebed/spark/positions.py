"""Which rows of which files a DataFrame has, as bitmaps.

Rows are counted in words of 64 by Spark's own aggregation, so what reaches the driver is at most a
bit for each row of the files and about twenty bytes for each row that is alone in its word. No row
passes through Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame

from lakebed.formats.deletion_vectors import RowIndexSet
from lakebed.spark.functions import functions_of
from lakebed.spark.plane import POSITION

FILE = "__lakebed_file"
"""The column with the number of the file that a row is in."""


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
    f = functions_of(frame)
    asked = sums or {}
    bit = f.expr(f"shiftleft(1L, CAST({POSITION} & 63 AS INT))")
    words = frame.groupBy(f.col(FILE), f.shiftright(f.col(POSITION), 6).alias(_WORD)).agg(
        f.bit_or(bit).alias(_BITS),
        f.count(f.lit(1)).alias(_SEEN),
        *[f.sum(column.cast("long")).alias(name) for name, column in asked.items()],
    )
    found = words.toArrow()
    return Positions(
        _bitmaps(found),
        _total(found, _SEEN),
        {name: _total(found, name) for name in asked},
    )


def _total(table: pa.Table, column: str) -> int:
    return int(pc.sum(table.column(column)).as_py() or 0)


def _bitmaps(words: pa.Table) -> dict[int, RowIndexSet]:
    ordered = words.select([FILE, _WORD, _BITS]).sort_by([(FILE, "ascending")]).combine_chunks()
    files = ordered.column(FILE)
    result, start = {}, 0
    for entry in files.value_counts().to_pylist() if len(files) else []:
        rows = ordered.slice(start, entry["counts"])
        result[int(entry["values"])] = RowIndexSet.from_indexes(_indexes(rows))
        start += entry["counts"]
    return result


def _indexes(words: pa.Table) -> pa.ChunkedArray:
    """The numbers of all bits that are set, bit by bit over all words at once."""
    first = pc.shift_left(words.column(_WORD).cast(pa.int64()), 6)
    bits = words.column(_BITS).cast(pa.int64())
    found = []
    for place in range(64):
        is_set = pc.not_equal(pc.bit_wise_and(bits, _word_of(place)), 0)
        found.extend(pc.add(first.filter(is_set), place).chunks)
    return pa.chunked_array(found, pa.int64())


def _word_of(place: int) -> pa.Scalar:
    return pa.scalar(1 << place if place < 63 else -(1 << 63), pa.int64())


_WORD, _BITS, _SEEN = "__lakebed_word", "__lakebed_bits", "__lakebed_seen"
