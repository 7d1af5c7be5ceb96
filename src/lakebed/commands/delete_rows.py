"""DELETE: deletes the rows for which a condition is true.

Whole files are removed without reading them where the log alone can tell: all rows, or all rows of
some partitions. Else one scan finds the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lakebed.commands.rows.change_target import ChangeTarget
from lakebed.commands.rows.row_change import RowChange
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Add
from lakebed.transaction.row_tracking import physical_records


def delete_rows(target: ChangeTarget, condition: Any = None, said: Any = None) -> dict[str, int]:
    """Deletes the rows; what the history says about it, `numDeletedRows` among it.

    `said` is a condition for the history where all rows are deleted.
    """
    return target.change(lambda snapshot: _Delete(target, snapshot, condition, said).run())


class _Delete:
    def __init__(self, target: ChangeTarget, snapshot: Snapshot, condition: Any, said: Any) -> None:
        self._condition = target.condition(snapshot, condition, "DELETE", said)
        self._change = RowChange(target, snapshot, self._condition.operation)

    def run(self) -> dict[str, int]:
        adds = self._condition.files()
        if self._condition.selects_whole_files:
            return self._whole_files(adds)
        deleted = self._condition.deleted(adds, self._change)
        if deleted is None:
            return {"numDeletedRows": 0}
        count = sum(rows.cardinality for rows in deleted.marks.values())
        return self._change.commit(deleted, lambda *_: {"numDeletedRows": count})

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


def _live_rows(add: Add) -> int | None:
    count = physical_records(add)
    gone = 0 if add.deletion_vector is None else add.deletion_vector.cardinality
    return None if count is None else count - gone
