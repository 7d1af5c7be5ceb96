"""Counts over the live files of a version, kept up to date commit by commit.

PROTOCOL: Version Checksum File, File Size Histogram Schema, Deleted Record Counts Histogram.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.formats.checksum import VersionChecksum
from lakebed.spec.actions import Add, Remove

_KB, _MB, _GB = 1024, 1024**2, 1024**3
# The bins of delta-spark, so that its own increments go on from ours.
BOUNDARIES: tuple[int, ...] = (
    0,
    *(8 * _KB << shift for shift in range(7)),
    *(_MB << shift for shift in range(3)),
    *range(8 * _MB, 40 * _MB, 4 * _MB),
    *range(40 * _MB, 120 * _MB, 8 * _MB),
    *range(120 * _MB, 144 * _MB, 4 * _MB),
    *range(144 * _MB, 576 * _MB, 16 * _MB),
    *range(576 * _MB, 1408 * _MB, 64 * _MB),
    *range(1408 * _MB, 2048 * _MB, 128 * _MB),
    *range(2048 * _MB, 4096 * _MB, 256 * _MB),
    *(4 * _GB << shift for shift in range(7)),
)
_DELETED_BINS = (0, 1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 2_147_483_647)


@dataclass(frozen=True)
class Totals:
    num_files: int
    size_in_bytes: int
    num_deleted_records: int
    num_deletion_vectors: int
    file_counts: tuple[int, ...]
    file_bytes: tuple[int, ...]
    deleted_counts: tuple[int, ...]

    @classmethod
    def of(cls, files: pa.Table) -> Totals:
        """From the columns `size` and `deletionVector` of all live files."""
        deleted = pc.fill_null(pc.struct_field(files.column("deletionVector"), "cardinality"), 0)
        sizes = files.column("size")
        counts, sizes_by_bin = _histogram(sizes, BOUNDARIES)
        return cls(
            num_files=files.num_rows,
            size_in_bytes=pc.sum(sizes).as_py() or 0,
            num_deleted_records=pc.sum(deleted).as_py() or 0,
            num_deletion_vectors=files.num_rows - files.column("deletionVector").null_count,
            file_counts=counts,
            file_bytes=sizes_by_bin,
            deleted_counts=_histogram(deleted, _DELETED_BINS)[0],
        )

    @classmethod
    def of_checksum(cls, checksum: VersionChecksum) -> Totals | None:
        """None where the checksum leaves out what is optional or uses other bins."""
        sizes, deleted = checksum.file_size_histogram, checksum.deleted_record_counts
        if sizes is None or deleted is None or checksum.num_deletion_vectors is None:
            return None
        counts = deleted.get("deletedRecordCounts")
        if tuple(sizes.get("sortedBinBoundaries") or ()) != BOUNDARIES or not counts:
            return None
        return cls(
            num_files=checksum.num_files,
            size_in_bytes=checksum.table_size_bytes,
            num_deleted_records=checksum.num_deleted_records or 0,
            num_deletion_vectors=checksum.num_deletion_vectors,
            file_counts=tuple(sizes["fileCounts"]),
            file_bytes=tuple(sizes["totalBytes"]),
            deleted_counts=tuple(counts),
        )

    def after(self, adds: Iterable[Add], removes: Iterable[Remove]) -> Totals | None:
        """After a commit whose adds are all new files and whose removes were all live.

        None where a remove does not say how large its file was.
        """
        delta = _Delta(self)
        for add in adds:
            delta.count(add.size, _deleted(add), 1, add.deletion_vector is not None)
        for remove in removes:
            if remove.size is None:
                return None
            delta.count(remove.size, _deleted(remove), -1, remove.deletion_vector is not None)
        return delta.finish()

    @property
    def size_histogram(self) -> Mapping[str, Any]:
        return {
            "sortedBinBoundaries": list(BOUNDARIES),
            "fileCounts": list(self.file_counts),
            "totalBytes": list(self.file_bytes),
        }

    @property
    def deleted_histogram(self) -> Mapping[str, Any]:
        return {"deletedRecordCounts": list(self.deleted_counts)}


class _Delta:
    def __init__(self, start: Totals) -> None:
        self._start = start
        self._files = self._bytes = self._deleted = self._vectors = 0
        self._counts, self._sizes = list(start.file_counts), list(start.file_bytes)
        self._deletes = list(start.deleted_counts)

    def count(self, size: int, deleted: int, sign: int, vector: bool) -> None:
        self._files += sign
        self._bytes += sign * size
        self._deleted += sign * deleted
        self._vectors += sign * vector
        position = max(bisect_right(BOUNDARIES, size) - 1, 0)
        self._counts[position] += sign
        self._sizes[position] += sign * size
        self._deletes[max(bisect_right(_DELETED_BINS, deleted) - 1, 0)] += sign

    def finish(self) -> Totals:
        start = self._start
        return Totals(
            start.num_files + self._files,
            start.size_in_bytes + self._bytes,
            start.num_deleted_records + self._deleted,
            start.num_deletion_vectors + self._vectors,
            tuple(self._counts),
            tuple(self._sizes),
            tuple(self._deletes),
        )


def _deleted(action: Add | Remove) -> int:
    vector = action.deletion_vector
    return 0 if vector is None else vector.cardinality


def _histogram(
    values: pa.ChunkedArray, bins: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    counts, sums = [0] * len(bins), [0] * len(bins)
    remaining = values
    for position in range(len(bins) - 1, -1, -1):
        if not len(remaining):
            break
        mask = pc.greater_equal(remaining, bins[position]) if position else pc.is_valid(remaining)
        inside = remaining.filter(mask)
        if len(inside):
            counts[position] = len(inside)
            sums[position] = pc.sum(inside).as_py() or 0
            remaining = remaining.filter(pc.invert(mask))
    return tuple(counts), tuple(sums)
