"""Which files of a version a predicate needs: by partition values, then by statistics."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.expressions import Expression, skip
from lakebed.formats.statistics import FileColumns
from lakebed.log.snapshot import Snapshot
from lakebed.spec.column_mapping import mapping_mode

SCAN_FIELDS = ("path", "partitionValues", "size", "modificationTime", "deletionVector")


@dataclass(frozen=True)
class Selection:
    """The files that may hold matching rows, out of `total`."""

    files: pa.Table
    total: int

    @property
    def skipped(self) -> int:
        return self.total - int(self.files.num_rows)


def select_files(
    snapshot: Snapshot, predicate: Expression | None, fields: tuple[str, ...] = SCAN_FIELDS
) -> Selection:
    files = snapshot.files(fields)
    if predicate is None:
        return Selection(files, files.num_rows)
    mask = skip(predicate, file_columns(snapshot), snapshot.partition_columns)
    kept = files if pc.all(mask).as_py() else files.filter(mask)
    return Selection(kept, files.num_rows)


def file_columns(snapshot: Snapshot) -> FileColumns:
    """The partition values and statistics of all files, parsed once and kept by the snapshot."""
    if snapshot.file_columns is None:
        snapshot.file_columns = FileColumns(
            snapshot.files_with_stats(),
            snapshot.schema,
            snapshot.partition_columns,
            mapping_mode(snapshot.metadata.configuration),
        )
    return snapshot.file_columns
