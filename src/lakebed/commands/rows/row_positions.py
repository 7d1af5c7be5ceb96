"""Where the rows are that a command changes.

Bitmaps in the driver cost at most a bit for each row of the files that were looked at. If that may
be too much, executors write them as deletion vectors, and the driver knows only where they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame

from lakebed.commands.rows.row_scan import RowScan
from lakebed.errors import InvalidCommitError
from lakebed.log.deleted_rows import StoredRows
from lakebed.spark.plane.position_bitmaps import Positions
from lakebed.spark.plane.vector_files import WrittenVector
from lakebed.transaction.row_marks import prefix_length

IN_SCAN_ORDER = 1 << 29
"""Of files with so many rows the driver holds bitmaps: 64 MB, if rows come as files have them."""
IN_ANY_ORDER = 1 << 26
"""The same if rows of a file may come to many tasks, each of which makes a bitmap of its own."""


@dataclass(frozen=True)
class RowPositions:
    """Finds rows of a scan. `most_rows` of its files are looked up in the driver."""

    scan: RowScan
    most_rows: int

    @property
    def fits_driver(self) -> bool:
        return self.scan.num_rows <= self.most_rows

    def find(self, frame: DataFrame, sums: Mapping[str, Column] | None = None) -> Positions:
        """The rows of a frame with `FILE` and `POSITION`."""
        if self.fits_driver:
            return self.scan.plane.find_positions(frame, sums or {})
        return self._stored(frame, sums or {})

    def _stored(self, frame: DataFrame, sums: Mapping[str, Column]) -> Positions:
        scan = self.scan
        vectors = {
            number: add.deletion_vector
            for number, add in enumerate(scan.adds)
            if add.deletion_vector is not None
        }
        letters = prefix_length(scan.snapshot.properties)
        written = scan.plane.write_vectors(frame, sums, vectors, letters)
        return Positions(
            {each.file: self._rows(each) for each in written},
            sum(each.num_seen for each in written),
            {name: sum(each.sums[name] for each in written) for name in sums},
        )

    def _rows(self, written: WrittenVector) -> StoredRows:
        add = self.scan.adds[written.file]
        rows = StoredRows(
            self.scan.snapshot.store, written.vector, add.deletion_vector, file=add.path
        )
        if rows.cardinality != written.marked:
            raise InvalidCommitError(
                f"{written.marked} rows of {add.path} are marked, of which some are deleted already"
            )
        return rows
