"""Space-filling curves: rows that are near each other in several columns get near numbers.

Each column is cut into ranges with about as many rows each, by a sample; the numbers of the ranges
are the coordinates of a row, and its place on the curve is its key. Z-order interleaves the bits of
the coordinates. A Hilbert curve never jumps: neighbours on it differ in one coordinate by one (J.
Skilling, "Programming the Hilbert curve", 2004). `CurveKeys.java` does the same on executors.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

Kind = Literal["zorder", "hilbert"]
MOST_KEY_BITS = 62
_MOST_BITS = 10
"""Of a coordinate: a thousand ranges."""


@dataclass(frozen=True)
class Curve:
    """`bounds` are the values at which the ranges of each column begin, in ascending order.

    Values are whole numbers, floats or texts. Missing values are in the first range, NaN in the
    last.
    """

    kind: Kind
    bounds: tuple[tuple[Any, ...], ...]

    @classmethod
    def of(cls, kind: Kind, sample: Sequence[pa.ChunkedArray]) -> Curve:
        """The curve over columns, by some of their values."""
        most = (1 << bits_of(len(sample))) - 2
        return cls(kind, tuple(tuple(quantiles(column, most)) for column in sample))

    @property
    def bits(self) -> int:
        return bits_of(len(self.bounds))

    def keys(self, columns: Sequence[pa.ChunkedArray]) -> list[int]:
        coordinates = [
            [self._spread(_range(value, bounds), bounds) for value in column.to_pylist()]
            for column, bounds in zip(columns, self.bounds, strict=True)
        ]
        return [self.key(list(row)) for row in zip(*coordinates, strict=True)]

    def _spread(self, number: int, bounds: tuple[Any, ...]) -> int:
        """Over all coordinates: a column with few values counts as much as one with many."""
        return (number << self.bits) // (len(bounds) + 2)

    def key(self, coordinates: list[int]) -> int:
        if self.kind == "hilbert":
            _transpose(coordinates, self.bits)
        found = 0
        for bit in range(self.bits - 1, -1, -1):
            for coordinate in coordinates:
                found = found << 1 | (coordinate >> bit & 1)
        return found


def bits_of(num_columns: int) -> int:
    return max(1, min(_MOST_BITS, MOST_KEY_BITS // num_columns))


def quantiles(values: pa.ChunkedArray | pa.Array, most: int) -> list[Any]:
    """Up to `most` different values that cut the sample into parts of about the same size."""
    known = values.drop_null()
    if pa.types.is_floating(known.type):
        known = known.filter(pc.invert(pc.is_nan(known)))
    if not len(known):
        return []
    ordered = known.take(pc.sort_indices(known))
    parts = min(most + 1, len(ordered))
    indexes = [len(ordered) * part // parts for part in range(1, parts)]
    return list(dict.fromkeys(ordered.take(pa.array(indexes, pa.int64())).to_pylist()))


def _range(value: Any, bounds: tuple[Any, ...]) -> int:
    if value is None:
        return 0
    if value != value:  # NaN, which is greater than all others to Spark
        return 1 + len(bounds)
    return 1 + bisect_right(bounds, value)


def _transpose(x: list[int], bits: int) -> None:
    """Coordinates to those whose interleaved bits are the place on the Hilbert curve."""
    top = 1 << (bits - 1)
    q = top
    while q > 1:
        p = q - 1
        for i in range(len(x)):
            if x[i] & q:
                x[0] ^= p
            else:
                t = (x[0] ^ x[i]) & p
                x[0] ^= t
                x[i] ^= t
        q >>= 1
    for i in range(1, len(x)):
        x[i] ^= x[i - 1]
    t, q = 0, top
    while q > 1:
        if x[-1] & q:
            t ^= q - 1
        q >>= 1
    for i in range(len(x)):
        x[i] ^= t
