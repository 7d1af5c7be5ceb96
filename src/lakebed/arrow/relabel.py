"""Giving an Arrow array a type of the same layout with other names inside, without a copy."""

from __future__ import annotations

from typing import Any

import pyarrow as pa


def relabel(array: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """`kind` differs from the array's type in the names of nested fields alone."""
    if array.type == kind:
        return array
    chunks = [pa.array(_Relabelled(chunk, kind)) for chunk in array.chunks]
    return pa.chunked_array(chunks, type=kind)


class _Relabelled:
    """The C data interface carries type and data apart: the data goes out under another type."""

    def __init__(self, array: pa.Array, kind: pa.DataType) -> None:
        self._array = array
        self._kind = kind

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        _, data = self._array.__arrow_c_array__(requested_schema)
        return self._kind.__arrow_c_schema__(), data
