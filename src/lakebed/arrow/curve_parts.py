"""The parts of a curve that rows are in, for whole columns at once: `curves` on numpy.

numpy is no dependency: without it, who wants this is told so (`is_available`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.data_files.curves import Curve

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Longs = NDArray[np.int64]


def is_available() -> bool:
    return find_spec("numpy") is not None


def curve_keys(curve: Curve, columns: Sequence[pa.ChunkedArray]) -> Longs:
    """As `Curve.keys`: the place of each row on the curve."""
    coordinates = [
        _coordinates(column, bounds, curve.bits)
        for column, bounds in zip(columns, curve.bounds, strict=True)
    ]
    if curve.kind == "hilbert":
        _transpose(coordinates, curve.bits)
    return _interleaved(coordinates, curve.bits)


def parts(keys: Longs, starts: Sequence[int]) -> NDArray[np.unsignedinteger[Any]]:
    """The number of the part that each key is in; part n begins at the n-th of `starts`."""
    import numpy as np

    found = np.searchsorted(np.asarray(starts, np.int64), keys, side="right")
    # Numbers of two bytes are sorted fastest.
    return found.astype(np.min_scalar_type(len(starts)))


def _coordinates(column: pa.ChunkedArray, bounds: tuple[Any, ...], bits: int) -> Longs:
    """Missing values are first, NaN is last, whatever the bounds."""
    import numpy as np

    ranges = 1 + _ranges(column, bounds)
    if column.null_count:
        ranges[pc.is_null(column).to_numpy()] = 0
    # As there are few ranges, what becomes of each is looked up.
    spread = (np.arange(len(bounds) + 2, dtype=np.int64) << bits) // (len(bounds) + 2)
    found: Longs = spread[ranges]
    return found


def _ranges(column: pa.ChunkedArray, bounds: tuple[Any, ...]) -> Any:
    """How many of the bounds are not greater than each value; anything for those that are null."""
    import numpy as np

    if not bounds:
        return np.zeros(len(column), np.int64)
    if pa.types.is_string(column.type) or pa.types.is_binary(column.type):
        return _text_ranges(column, bounds)
    filled = column.fill_null(pa.scalar(bounds[0], column.type)) if column.null_count else column
    values = filled.to_numpy()
    return np.searchsorted(np.asarray(bounds, values.dtype), values, side="right")


def _text_ranges(column: pa.ChunkedArray, bounds: tuple[Any, ...]) -> Any:
    """By the ranks of the different texts or bytes, so that they never become Python objects."""
    import numpy as np

    encoded = column.combine_chunks().dictionary_encode()
    known = encoded.dictionary
    order = pc.sort_indices(known)
    ordered = _Texts(known.take(order))
    # The first rank of which it is greater or equal.
    firsts = [bisect_left(ordered, bound) for bound in bounds]
    ranks = np.empty(len(known) + 1, np.int64)
    ranks[order.to_numpy()] = np.arange(len(known))
    ranks[-1] = 0
    ranges = np.searchsorted(np.asarray(firsts), ranks, side="right")
    return ranges[encoded.indices.fill_null(len(known)).to_numpy()]


class _Texts:
    """A sorted column as a sequence to search in."""

    def __init__(self, values: pa.Array) -> None:
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, index: int) -> Any:
        return self._values[index].as_py()


def _interleaved(coordinates: Sequence[Longs], bits: int) -> Longs:
    import numpy as np

    found = np.zeros(len(coordinates[0]), np.int64)
    for index, column in enumerate(coordinates):
        found |= _apart(bits, len(coordinates), index)[column]
    return found


def _apart(bits: int, num_columns: int, index: int) -> Longs:
    """For each coordinate its bits where they are in a key."""
    import numpy as np

    values = np.arange(1 << bits, dtype=np.int64)
    found = np.zeros(len(values), np.int64)
    for bit in range(bits):
        found |= (values >> bit & 1) << (bit * num_columns + num_columns - 1 - index)
    return found


def _transpose(x: list[Longs], bits: int) -> None:
    """As in `curves`, with rows where that has numbers: a choice is a mask of all bits or none."""
    for bit in range(bits - 1, 0, -1):
        p = (1 << bit) - 1
        for i in range(len(x)):
            is_set = -(x[i] >> bit & 1)
            t = (x[0] ^ x[i]) & p & ~is_set
            x[0] = x[0] ^ t ^ (p & is_set)
            if i:
                x[i] = x[i] ^ t
    for i in range(1, len(x)):
        x[i] = x[i] ^ x[i - 1]
    t = x[-1] & 0
    for bit in range(bits - 1, 0, -1):
        t ^= -(x[-1] >> bit & 1) & ((1 << bit) - 1)
    for i in range(len(x)):
        x[i] = x[i] ^ t
