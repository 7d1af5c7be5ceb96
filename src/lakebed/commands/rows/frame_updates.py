"""The rows of an UPDATE with their new values, by Spark.

One scan finds the rows, a second one reads the files that have any and writes the new rows. On
tables with a change feed the new rows are stored first, so that the feed has exactly what is
written.

The first scan reads only what the condition needs, which pays where few of many files have such
rows. Where there is so little to read that the tasks run all at once, one scan does both: its rows
are written, and their positions are tracked on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame

from lakebed.commands.rows.assignments import Assignment, is_generated
from lakebed.commands.rows.frame_changes import FrameChanges, NewRows
from lakebed.commands.rows.new_values import new_values
from lakebed.commands.rows.row_change import CHANGE_TYPE, uses_vectors
from lakebed.commands.rows.row_positions import IN_SCAN_ORDER, RowPositions
from lakebed.commands.rows.row_scan import ROW_VERSION, RowScan
from lakebed.commands.target.row_target import RowTarget
from lakebed.expressions import Expression
from lakebed.log.snapshot import Snapshot
from lakebed.spark.columns.projection import quote
from lakebed.spark.plane.plane import TrackedRows
from lakebed.spark.plane.position_bitmaps import FILE, POSITION, Positions
from lakebed.spark.read.command_reads import CommandReads
from lakebed.spark.session.session_kind import functions_of, is_connect
from lakebed.spark.write.generated_values import with_generated
from lakebed.spec.actions import Add
from lakebed.spec.schema import StructType


@dataclass(frozen=True)
class FrameUpdates:
    """`matching` gives the rows of a scan for which the condition is true."""

    target: RowTarget
    snapshot: Snapshot
    assignments: Sequence[Assignment]
    matching: Callable[[RowScan], DataFrame]
    reads: CommandReads
    predicate: Expression | None

    def of(self, adds: Sequence[Add]) -> FrameChanges | None:
        scan = self._scan(adds)
        finder = RowPositions(scan, self.target.most(IN_SCAN_ORDER))
        if self._is_small(adds) and finder.fits_driver and uses_vectors(self.snapshot):
            tracked = scan.plane.track_positions(self._updated(scan))
            if tracked is not None:
                return self._in_one_scan(scan, tracked)
        positions = finder.find(self.matching(scan))
        return self._in_two_scans(scan, positions) if positions.rows else None

    def _scan(self, adds: Sequence[Add]) -> RowScan:
        return RowScan(self.snapshot, self.target.plane, adds)

    def _is_small(self, adds: Sequence[Add]) -> bool:
        if self._feed or is_connect(self.target.session):
            return False
        parallel = int(self.target.session.sparkContext.defaultParallelism)
        return sum(add.size for add in adds) <= parallel * _TASK_BYTES

    def _in_one_scan(self, scan: RowScan, tracked: TrackedRows) -> FrameChanges:
        return FrameChanges(
            scan,
            self.predicate,
            new=[NewRows(tracked.frame, self._given, updated=True)],
            tracked=tracked.positions,
            has_updates=True,
        )

    def _in_two_scans(self, scan: RowScan, positions: Positions) -> FrameChanges:
        touched = sorted(positions.rows)
        second = self._scan([scan.adds[n] for n in touched])
        rows = self._updated(second)
        return FrameChanges(
            second,
            self.predicate,
            {number: positions.rows[n] for number, n in enumerate(touched)},
            [NewRows(rows, self._given, updated=True)],
            self._changes(rows) if self._feed else None,
            has_updates=True,
            num_new=positions.num_rows,
        )

    def _updated(self, scan: RowScan) -> DataFrame:
        """The rows with their new values; with a change feed also with the old ones."""
        frame = self.matching(scan)
        f = functions_of(frame)
        current = {name: f.col(quote(name)) for name in self._schema.names}
        changed = new_values(frame, self.assignments, self._schema, current)
        columns = [changed.get(name, old).alias(name) for name, old in current.items()]
        for name in scan.row_columns:
            # The version of a row that changes is that of the commit, which is not known yet.
            is_version = name == ROW_VERSION
            kept = f.lit(None).cast("long") if is_version else f.col(name)
            columns.append(kept.alias(name))
        if not self._feed:
            return self.reads.pinned(frame.select(*columns, FILE, POSITION))
        before = [old.alias(_before(name)) for name, old in current.items()]
        return self.reads.pinned(frame.select(*columns, *before)).localCheckpoint()

    @property
    def _schema(self) -> StructType:
        return self.snapshot.schema

    @property
    def _feed(self) -> bool:
        return bool(self.snapshot.properties.enable_change_data_feed)

    @property
    def _given(self) -> StructType:
        return StructType(tuple(each for each in self._schema.fields if self._is_given(each.name)))

    def _is_given(self, name: str) -> bool:
        """Generated columns that are not set are computed again."""
        is_set = any(each.path[0] == name for each in self.assignments)
        return is_set or not is_generated(self._schema.field(name))

    def _changes(self, rows: DataFrame) -> DataFrame:
        f = functions_of(rows)
        before = [f.col(quote(_before(name))).alias(name) for name in self._schema.names]
        after = with_generated(rows, self._schema, self._is_given)
        old = rows.select(*before, f.lit("update_preimage").alias(CHANGE_TYPE))
        return old.unionAll(after.withColumn(CHANGE_TYPE, f.lit("update_postimage")))


def _before(name: str) -> str:
    return f"__lakebed_before_{name}"


_TASK_BYTES = 128 << 20
"""What Spark gives to one task, as it is set."""
