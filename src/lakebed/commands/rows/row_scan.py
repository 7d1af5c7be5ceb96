"""Reading files of a table in order to change some of their rows.

Beside its columns a row has the number of its file and its index there, and on tables with row
tracking (PROTOCOL: Row Tracking) its id and the version that last changed it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from pyspark.sql import DataFrame

from lakebed.commands.rows.changed_files import ChangedFiles
from lakebed.formats.deletion_vectors import RowIndexSet
from lakebed.log.snapshot import Snapshot
from lakebed.log.synthetic_snapshot import mapped_field, synthetic_snapshot
from lakebed.spark.columns.projection import quote
from lakebed.spark.plane.plane import Plane
from lakebed.spark.plane.position_bitmaps import FILE, POSITION
from lakebed.spark.session.session_kind import functions_of
from lakebed.spec.actions import Add
from lakebed.spec.columns.column_mapping import mapping_mode
from lakebed.spec.schema import INTEGER, LONG, StructField

ROW_ID = "__lakebed_row_id"
ROW_VERSION = "__lakebed_row_version"


@dataclass(frozen=True)
class RowScan:
    """Some files of a version; `adds` are numbered from 0, and may each have a label."""

    snapshot: Snapshot
    plane: Plane
    adds: Sequence[Add]
    labels: Sequence[int] | None = None
    label = "__lakebed_label"
    """The column with the label of the file that a row is in."""

    @cached_property
    def materialized(self) -> tuple[StructField, StructField] | None:
        """The columns in which files keep ids and versions of rows that came from other files."""
        properties = self.snapshot.properties
        names = (
            properties.materialized_row_id_column,
            properties.materialized_row_commit_version_column,
        )
        if not properties.enable_row_tracking or None in names:
            return None
        mode = mapping_mode(self.snapshot.metadata.configuration)
        first, second = (
            mapped_field(StructField(str(name), LONG), number, mode)
            for number, name in enumerate(names)
        )
        return first, second

    @property
    def files(self) -> ChangedFiles:
        return ChangedFiles(self.snapshot, self.adds)

    @property
    def num_rows(self) -> int:
        """At most so many rows are in the files."""
        return self.files.num_rows

    @property
    def row_columns(self) -> list[str]:
        """The names of the columns that follow those of the table into new files."""
        return [] if self.materialized is None else [ROW_ID, ROW_VERSION]

    def frame(self) -> DataFrame:
        """All rows: the table's columns, `FILE`, `POSITION` and the row columns."""
        return self._scanned(self.adds)

    def kept(self, marks: Mapping[int, RowIndexSet]) -> DataFrame | None:
        """The rows of the marked files that are not marked; None if there are none."""
        left = self.files.kept(marks)
        return self._scanned(left) if left else None

    def num_kept(self, marks: Mapping[int, RowIndexSet]) -> int:
        """How many rows `kept` gives, of files that are `counted`."""
        return self.files.num_kept(marks)

    def counted(self, numbers: Iterable[int]) -> RowScan:
        """The same, in which these files say how many rows they have."""
        return replace(self, adds=self.files.counted(numbers).adds)

    def _scanned(self, adds: Sequence[Add]) -> DataFrame:
        numbers = {add.path: number for number, add in enumerate(self.adds)}
        snapshot = synthetic_snapshot(
            self.snapshot.store,
            self.snapshot.protocol,
            self.snapshot.metadata,
            [self._numbered(add, numbers[add.path]) for add in adds],
            columns=self.materialized or (),
            partitions=_PARTITIONS,
        )
        frame = self.plane.scan_synthetic(snapshot, positions=True)
        f = functions_of(frame)
        columns = [f.col(quote(name)) for name in self.snapshot.schema.names]
        columns += [f.col(FILE), f.col(POSITION)]
        if self.labels is not None:
            columns.append(f.col(self.label))
        if self.materialized is not None:
            row_id, version = (f.col(quote(field.name)) for field in self.materialized)
            columns.append(f.coalesce(row_id, f.col(_BASE) + f.col(POSITION)).alias(ROW_ID))
            columns.append(f.coalesce(version, f.col(_VERSION)).alias(ROW_VERSION))
        return frame.select(*columns)

    def _numbered(self, add: Add, number: int) -> Add:
        more = {
            FILE: str(number),
            self.label: _text(None if self.labels is None else self.labels[number]),
            _BASE: _text(add.base_row_id),
            _VERSION: _text(add.default_row_commit_version),
        }
        return replace(add, partition_values={**add.partition_values, **more})


def _text(value: int | None) -> str | None:
    return None if value is None else str(value)


_BASE, _VERSION = "__lakebed_base_row_id", "__lakebed_row_commit_version"
_PARTITIONS = (
    StructField(FILE, INTEGER),
    StructField(RowScan.label, INTEGER),
    StructField(_BASE, LONG),
    StructField(_VERSION, LONG),
)
