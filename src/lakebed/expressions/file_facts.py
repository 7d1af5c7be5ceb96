"""What skipping needs to know about files: their partition values and statistics, as columns.

PROTOCOL: Per-file Statistics. One row per file, in the same order in every array.
"""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa

from lakebed.spec.schema import Path


class FileColumnsProtocol(Protocol):
    """Statistics are null for files without them; None stands for a column of nulls.

    Names and paths are logical. Bounds are bounds: where a writer has cut off a string or a
    timestamp, `maximum` has already been raised to a value that no row exceeds. Minimum and maximum
    of floating-point columns are those of the values that are not NaN, since writers leave NaN out.
    """

    @property
    def num_files(self) -> int: ...

    def partition(self, name: str) -> pa.Array:
        """The values of a partition column, of the Arrow type of the column."""
        ...

    def minimum(self, path: Path) -> pa.Array | None: ...

    def maximum(self, path: Path) -> pa.Array | None: ...

    def null_count(self, path: Path) -> pa.Array | None: ...

    def num_records(self) -> pa.Array | None:
        """The rows in each file, with those that a deletion vector marks as deleted."""
        ...

    def tight(self) -> pa.Array | None:
        """Whether the bounds are values of rows. Skipping needs no more than bounds."""
        ...
