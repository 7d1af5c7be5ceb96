"""Reading files of a table in order to change some of their rows.

Beside its columns a row has its index in the file, and on tables with row tracking (PROTOCOL: Row
Tracking) what the file says about its id and the version that last changed it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa

from lakebed.arrow.row_ids import row_id_columns
from lakebed.arrow.scan import ScannedTable, ScanPlan, position_field, read_pieces
from lakebed.commands.rows.changed_files import ChangedFiles
from lakebed.errors import SchemaError
from lakebed.formats.deletion_vectors import RowIndexSet
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Add
from lakebed.spec.schema import StructField, StructType

POSITION = "__lakebed_row"
"""The column with the index of a row in its file; the last one."""


@dataclass(frozen=True)
class RowScan:
    """Some files of a version; `adds` are numbered from 0."""

    snapshot: Snapshot
    adds: Sequence[Add]

    @property
    def files(self) -> ChangedFiles:
        return ChangedFiles(self.snapshot, self.adds)

    @cached_property
    def ids(self) -> tuple[StructField, ...]:
        """The columns in which files keep ids and versions of rows that came from other files."""
        return row_id_columns(self.snapshot)

    def rows_of(
        self, number: int, names: Collection[str], *, with_ids: bool = False
    ) -> Iterator[pa.Table]:
        """The rows of a file with the columns of these names, in lower case, piece by piece."""
        return read_pieces(self._plan(names, with_ids=with_ids), _row(self.adds[number]))

    def whole_rows(self, add: Add, only: RowIndexSet | None = None) -> Iterator[pa.Table]:
        """The rows of a file with all columns of the table, and `ids`."""
        return read_pieces(self._whole, _row(add), only)

    def marked_rows(
        self, number: int, marked: RowIndexSet, names: Collection[str] | None
    ) -> Iterator[pa.Table]:
        """Some rows of a file with the columns of these names, and `ids`; all columns with None."""
        add = self.adds[number]
        if names is None:
            yield from self.whole_rows(add, marked)
        elif names or self.ids:
            yield from read_pieces(self._plan(names, with_ids=True), _row(add), marked)
        else:
            yield pa.table({POSITION: marked.to_arrow()})

    @cached_property
    def _whole(self) -> ScanPlan:
        return self._planned((*self.snapshot.schema.fields, *self.ids))

    def _plan(self, names: Collection[str], *, with_ids: bool = False) -> ScanPlan:
        fields = self.snapshot.schema.fields
        if not fields:
            raise SchemaError(
                f"{self.snapshot.store.url} has no columns at version {self.snapshot.version}"
            )
        chosen = tuple(each for each in fields if each.name.lower() in names)
        # A table without columns has no number of rows.
        return self._planned((*(chosen or fields[:1]), *(self.ids if with_ids else ())))

    def _planned(self, fields: tuple[StructField, ...]) -> ScanPlan:
        read = StructType(fields)
        position = position_field(self.snapshot.schema, POSITION)
        known = ScannedTable.of(self.snapshot)
        table = replace(known, schema=StructType((*known.schema.fields, *self.ids)))
        output = StructType((*read.fields, position))
        return ScanPlan(table, output, read, None, pa.table({}), position)


def _row(add: Add) -> dict[str, object]:
    vector = add.deletion_vector
    return {
        "path": add.path,
        "partitionValues": add.partition_values,
        "deletionVector": None if vector is None else vector.to_json(),
    }
