"""DELETE: deletes the rows for which a condition is true.

Whole files are removed without reading them where the log alone can tell: all rows, or all rows of
some partitions. Else one scan finds the rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame

from lakebed.commands.optimize.auto_compaction import auto_compact
from lakebed.commands.rows.row_change import CHANGE_TYPE, ChangedRows, RowChange, uses_vectors
from lakebed.commands.rows.row_condition import RowCondition
from lakebed.commands.rows.row_positions import IN_SCAN_ORDER, RowPositions
from lakebed.commands.target.row_target import RowTarget
from lakebed.log.snapshot import Snapshot
from lakebed.spark.columns.projection import quote
from lakebed.spark.internals.call_sites import without_call_sites
from lakebed.spark.session.session_kind import functions_of
from lakebed.spec.actions import Add
from lakebed.transaction.row_tracking import physical_records


@without_call_sites()
def delete_rows(
    target: RowTarget, condition: str | Column | None = None, said: Column | None = None
) -> dict[str, int]:
    """Deletes the rows; what the history says about it, `numDeletedRows` among it.

    `said` is a condition for the history where all rows are deleted.
    """
    metrics = target.change(lambda snapshot: _Delete(target, snapshot, condition, said).run())
    auto_compact(target)
    return metrics


class _Delete:
    def __init__(
        self,
        target: RowTarget,
        snapshot: Snapshot,
        condition: str | Column | None,
        said: Column | None,
    ) -> None:
        self._target = target
        self._snapshot = snapshot
        self._condition = RowCondition(target, snapshot, condition, "DELETE", said)
        self._change = RowChange(target, snapshot, self._condition.operation)

    def run(self) -> dict[str, int]:
        adds = self._condition.files()
        if self._condition.selects_whole_files:
            return self._whole_files(adds)
        return self._rows(adds)

    def _whole_files(self, adds: Sequence[Add]) -> dict[str, int]:
        if not adds:
            return {"numDeletedRows": 0}
        self._change.transaction.read_files(self._condition.predicate, adds)
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
        scan = self._condition.scan(adds)
        matching = self._condition.matching(scan, self._change.reads)
        if not adds:
            # The statistics rule out every file, and Spark has checked the condition.
            return {"numDeletedRows": 0}
        positions = RowPositions(scan, self._target.most(IN_SCAN_ORDER)).find(matching)
        if not positions.rows:
            return {"numDeletedRows": 0}
        known = self._condition.known_predicate(lambda: matching)
        self._change.transaction.read_predicate(known)
        deleted = ChangedRows(scan, positions.rows, changes=self._changes(matching), num_new=0)
        return self._change.commit(deleted, lambda *_: {"numDeletedRows": positions.num_rows})

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
