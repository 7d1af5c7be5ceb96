"""Reading files of a table in order to change some of their rows.

Beside its columns a row has the number of its file and its index there, and on tables with row
tracking (PROTOCOL: Row Tracking) its id and the version that last changed it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import orjson
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from lakebed.formats.deletion_vectors import RowIndexSet, encode_bitmap
from lakebed.log.deleted_rows import StoredRows, deleted_rows
from lakebed.log.snapshot import Snapshot
from lakebed.log.synthetic_snapshot import mapped_field, synthetic_snapshot
from lakebed.spark.columns.projection import quote
from lakebed.spark.plane.plane import Plane
from lakebed.spark.plane.position_bitmaps import FILE, POSITION
from lakebed.spark.session.session_kind import functions_of
from lakebed.spec.actions import Add
from lakebed.spec.columns.column_mapping import mapping_mode
from lakebed.spec.schema import INTEGER, LONG, StructField
from lakebed.spec.stats import NUM_RECORDS
from lakebed.spec.vector_descriptors import inline_vector
from lakebed.transaction.row_tracking import physical_records

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

    @cached_property
    def num_rows(self) -> int:
        """At most so many rows are in the files, deleted ones among them.

        A row takes hardly less than a bit of a file that does not say how many it has.
        """
        counts = ((physical_records(add), add.size) for add in self.adds)
        return sum(8 * size if count is None else count for count, size in counts)

    @property
    def row_columns(self) -> list[str]:
        """The names of the columns that follow those of the table into new files."""
        return [] if self.materialized is None else [ROW_ID, ROW_VERSION]

    def frame(self) -> DataFrame:
        """All rows: the table's columns, `FILE`, `POSITION` and the row columns."""
        return self._scanned(self.adds)

    def kept(self, marks: Mapping[int, RowIndexSet]) -> DataFrame | None:
        """The rows of the marked files that are not marked; None if there are none."""
        adds = [self._without(number, marks[number]) for number in sorted(marks)]
        left = [add for add in adds if add is not None]
        return self._scanned(left) if left else None

    def num_kept(self, marks: Mapping[int, RowIndexSet]) -> int:
        """How many rows `kept` gives, of files that are `counted`."""
        return sum(self._num_left(number, marked) or 0 for number, marked in marks.items())

    def counted(self, numbers: Iterable[int]) -> RowScan:
        """The same, with the number of rows of these files, from the files if not from the log.

        PROTOCOL: a file with a deletion vector must say how many rows it has.
        """
        adds = list(self.adds)
        for number in numbers:
            adds[number] = self._counted(adds[number])
        return replace(self, adds=adds)

    def _counted(self, add: Add) -> Add:
        if physical_records(add) is not None:
            return add
        home, path = self.snapshot.store.resolve(add.path)
        footer = pq.read_metadata(home.open_input(path))
        stats = {**orjson.loads(add.stats or "{}"), NUM_RECORDS: footer.num_rows}
        return replace(add, stats=orjson.dumps(stats).decode())

    def is_dead(self, number: int, marked: RowIndexSet) -> bool:
        """Whether a file has no row but those that are marked or deleted already."""
        left = self._num_left(number, marked)
        return left is not None and left <= 0

    def _num_left(self, number: int, marked: RowIndexSet) -> int | None:
        add = self.adds[number]
        total = physical_records(add)
        gone = 0 if add.deletion_vector is None else add.deletion_vector.cardinality
        return None if total is None else total - gone - marked.cardinality

    def _without(self, number: int, marked: RowIndexSet) -> Add | None:
        if self.is_dead(number, marked):
            return None
        add = self.adds[number]
        if isinstance(marked, StoredRows):
            return replace(add, deletion_vector=marked.vector)
        rows = deleted_rows(self.snapshot.store, add.deletion_vector, file=add.path).union(marked)
        return replace(add, deletion_vector=inline_vector(encode_bitmap(rows), rows.cardinality))

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
