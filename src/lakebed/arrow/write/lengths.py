"""Texts of limited length, as Spark stores them: `char(n)` padded, neither longer than n.

Blanks beyond the limit are cut off, as in Spark and in the SQL standard; anything else is refused.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import ConstraintViolationError
from lakebed.spec.columns.column_metadata import LengthLimit, length_limits
from lakebed.spec.schema import (
    ArrayType,
    DataType,
    MapType,
    Path,
    StructField,
    StructType,
    render_path,
)


def fit_lengths(column: pa.ChunkedArray, field: StructField) -> pa.ChunkedArray:
    """The column with every limited text in it, at any depth, as it is to be stored."""
    limits = length_limits(field)
    if not limits:
        return column
    fitting = _Fitting(field.name, limits)
    chunks = [fitting.fit(chunk, field.data_type, ()) for chunk in column.chunks]
    return pa.chunked_array(chunks, type=column.type)


class _Fitting:
    def __init__(self, column: str, limits: Mapping[Path, LengthLimit]) -> None:
        self._column = column
        self._limits = limits

    def fit(self, array: pa.Array, data_type: DataType, path: Path) -> pa.Array:
        limit = self._limits.get(path)
        if limit is not None:
            return self._text(array, limit, path)
        if not any(known[: len(path)] == path for known in self._limits):
            return array
        if isinstance(data_type, StructType):
            return self._struct(array, data_type, path)
        if isinstance(data_type, ArrayType):
            fresh, mask = _fresh(array)
            values = self.fit(fresh.values, data_type.element_type, (*path, "element"))
            return pa.ListArray.from_arrays(fresh.offsets, values, type=array.type, mask=mask)
        if isinstance(data_type, MapType):
            fresh, mask = _fresh(array)
            keys = self.fit(fresh.keys, data_type.key_type, (*path, "key"))
            items = self.fit(fresh.items, data_type.value_type, (*path, "value"))
            return pa.MapArray.from_arrays(fresh.offsets, keys, items, type=array.type, mask=mask)
        return array

    def _struct(self, array: pa.Array, data_type: StructType, path: Path) -> pa.Array:
        parts = [
            self.fit(part, field.data_type, (*path, field.name))
            for part, field in zip(array.flatten(), data_type.fields, strict=True)
        ]
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(parts, fields=list(array.type), mask=mask)

    def _text(self, array: pa.Array, limit: LengthLimit, path: Path) -> pa.Array:
        needed = pc.max(pc.utf8_length(pc.utf8_rtrim(array, " "))).as_py() or 0
        if needed > limit.length:
            raise ConstraintViolationError(
                f"column {render_path((self._column, *path))} is {limit}, but a value has "
                f"{needed} characters",
                hint="nothing was written; shorten the values",
            )
        too_long = pc.greater(pc.utf8_length(array), limit.length)
        if pc.any(too_long).as_py():
            cut = pc.utf8_slice_codeunits(array, 0, limit.length)
            array = pc.if_else(too_long, cut, array)
        return pc.utf8_rpad(array, limit.length, " ") if limit.padded else array


def _fresh(array: pa.Array) -> tuple[pa.Array, pa.Array | None]:
    """A copy that is no slice: only such arrays can be rebuilt around new values."""
    copy = array.take(pc.indices_nonzero(pa.repeat(pa.scalar(True), len(array))))
    return copy, copy.is_null() if copy.null_count else None
