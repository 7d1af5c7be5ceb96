"""DELETE: rows for which a condition is true go.

Whole files go without a look into them where the log alone can tell: all rows, or all rows of some
partitions. Else one scan finds the rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame

from lakebed.commands.optimize.auto_compaction import auto_compact
from lakebed.commands.rows.assignments import as_column
from lakebed.commands.rows.row_change import CHANGE_TYPE, Found, RowChange, uses_vectors
from lakebed.commands.rows.row_condition import check_condition, described, known_predicate
from lakebed.commands.rows.row_positions import IN_SCAN_ORDER, RowPositions
from lakebed.commands.rows.row_scan import RowScan
from lakebed.commands.target.row_target import RowTarget
from lakebed.expressions import references
from lakebed.formats.file_actions import adds_from_table
from lakebed.log.file_state import ADD_FIELDS
from lakebed.log.selection import select_files
from lakebed.log.snapshot import Snapshot
from lakebed.spark.columns.projection import quote
from lakebed.spark.internals.call_sites import without_call_sites
from lakebed.spark.session.session_kind import functions_of
from lakebed.spec.actions import Add
from lakebed.transaction import Operation
from lakebed.transaction.row_tracking import physical_records


@without_call_sites()
def delete_rows(target: RowTarget, condition: str | Column | None = None) -> dict[str, int]:
    """Deletes the rows; what the history says about it, `numDeletedRows` among it."""
    metrics = target.change(lambda snapshot: _Delete(target, snapshot, condition).run())
    auto_compact(target)
    return metrics


class _Delete:
    def __init__(
        self, target: RowTarget, snapshot: Snapshot, condition: str | Column | None
    ) -> None:
        self._target = target
        self._snapshot = snapshot
        self._condition = target.translated(snapshot, condition)
        self._predicate = target.predicate(snapshot, condition)
        operation = Operation("DELETE", {"predicate": described(condition)})
        self._change = RowChange(target, snapshot, operation)

    def run(self) -> dict[str, int]:
        adds = list(adds_from_table(select_files(self._snapshot, self._predicate, ALL).files))
        if self._condition is None or self._is_about_partitions():
            return self._whole_files(adds)
        return self._rows(adds)

    def _is_about_partitions(self) -> bool:
        partitions = {name.lower() for name in self._snapshot.partition_columns}
        return self._predicate is not None and all(
            path[0].lower() in partitions for path in references(self._predicate)
        )

    def _whole_files(self, adds: Sequence[Add]) -> dict[str, int]:
        if not adds:
            return {"numDeletedRows": 0}
        self._change.transaction.read_files(self._predicate, adds)
        self._change.remove(adds)
        counts = [_live_rows(add) for add in adds]
        known = [count for count in counts if count is not None]
        metrics = {"numDeletedRows": sum(known)} if len(known) == len(counts) else {}
        return self._change.finish(
            {
                **metrics,
                "numRemovedFiles": len(adds),
                "numRemovedBytes": sum(add.size for add in adds),
                "numAddedFiles": 0,
                "numAddedBytes": 0,
                "numCopiedRows": 0,
                "numAddedChangeFiles": 0,
                "numDeletionVectorsAdded": 0,
                "numDeletionVectorsUpdated": 0,
                "numDeletionVectorsRemoved": sum(1 for a in adds if a.deletion_vector is not None),
            }
        )

    def _rows(self, adds: Sequence[Add]) -> dict[str, int]:
        scan = RowScan(self._snapshot, self._target.plane, adds)
        matching = self._matching(scan)
        if not adds:
            # The statistics rule out every file, and Spark has checked the condition.
            return {"numDeletedRows": 0}
        positions = RowPositions(scan, self._target.most(IN_SCAN_ORDER)).find(matching)
        if not positions.rows:
            return {"numDeletedRows": 0}
        known = self._predicate or known_predicate(matching, self._snapshot.schema)
        self._change.transaction.read_predicate(known)
        found = Found(scan, positions.rows, changes=self._changes(matching), num_new=0)
        return self._change.commit(found, lambda *_: {"numDeletedRows": positions.num_rows})

    def _matching(self, scan: RowScan) -> DataFrame:
        frame = scan.frame()
        if self._target.alias is not None:
            frame = frame.alias(self._target.alias)
        assert self._condition is not None
        matching = frame.where(as_column(frame, self._condition))
        check_condition(matching, "DELETE")
        return self._change.reads.pinned(matching)

    def _changes(self, matching: DataFrame) -> DataFrame | None:
        feed = self._snapshot.properties.enable_change_data_feed
        if not feed or uses_vectors(self._snapshot):
            return None
        f = functions_of(matching)
        columns = [f.col(quote(name)) for name in self._snapshot.schema.names]
        return matching.select(*columns, f.lit("delete").alias(CHANGE_TYPE))


def _live_rows(add: Add) -> int | None:
    count = physical_records(add)
    gone = 0 if add.deletion_vector is None else add.deletion_vector.cardinality
    return None if count is None else count - gone


ALL = tuple(ADD_FIELDS)
