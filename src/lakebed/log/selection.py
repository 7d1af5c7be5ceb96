"""Which files of a version a predicate needs: by partition values, then by statistics."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.expressions import Expression, references, skip
from lakebed.expressions.generated import GeneratedBounds
from lakebed.formats.statistics.file_statistics import FileColumns
from lakebed.log.snapshot import Snapshot
from lakebed.spec.columns.column_mapping import mapping_mode

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
    columns = file_columns(snapshot, stats=not _needs_partitions_only(snapshot, predicate))
    completed = generated_bounds(snapshot).over(columns)
    mask = skip(predicate, completed, snapshot.partition_columns)
    kept = files if pc.all(mask).as_py() else files.filter(mask)
    return Selection(kept, files.num_rows)


def file_columns(snapshot: Snapshot, *, stats: bool = True) -> FileColumns:
    """The partition values and statistics of all files, parsed once and kept by the snapshot.

    Statistics are most of a checkpoint: without need they are not even read.
    """
    known = snapshot.file_columns.get(stats)
    if known is None:
        fields = ("path", "partitionValues", "deletionVector")
        known = FileColumns(
            snapshot.files_with_stats() if stats else snapshot.files(fields),
            snapshot.schema,
            snapshot.partition_columns,
            mapping_mode(snapshot.metadata.configuration),
        )
        snapshot.file_columns[stats] = known
    return known


def generated_bounds(snapshot: Snapshot) -> GeneratedBounds:
    return GeneratedBounds(snapshot.schema, snapshot.partition_columns)


def _needs_partitions_only(snapshot: Snapshot, predicate: Expression) -> bool:
    partitions = {name.lower() for name in snapshot.partition_columns}
    return all(path[0].lower() in partitions for path in references(predicate))
