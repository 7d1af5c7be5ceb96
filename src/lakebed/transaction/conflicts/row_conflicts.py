"""Whether marks of rows can follow a commit that changed the same files, row by row.

**Why this is sound.** A mark means: each row of the file was judged by itself, and these rows go.
Say another commit W came first. Ordered after W, the transaction would have read the file without
the rows D that W deleted from it, judged the others as it did, since the bytes of a data file never
change, and marked its rows without those in D. If D has none of them, that is exactly what it
wants to commit: its rows and those of W go, so W first and the transaction second is a serial order
with this outcome. Rows that W added are another matter, which `files_appended` looks at; a file
that W only adds again with a larger vector brings none.

If D has some of them, both changed the same row, and what the second one computed from it is
obsolete: this is the conflict of `RowConflictError`. Rows that the transaction left alone, but
whose presence decided something (a row that a MERGE matched, so that it inserted nothing), are
`seen`: that one of them is gone is a conflict too, though one that reading again settles.

Where W removed a file for good, D is every row if W wrote nothing that could hold one of them.
Otherwise rows may live on elsewhere, moved or rewritten, and only reading again can tell.
"""

from __future__ import annotations

from collections.abc import Sequence

from lakebed.errors import ConcurrentDeleteReadError, ConflictError
from lakebed.formats.deletion_vectors import RowIndexSet
from lakebed.log.snapshot import Snapshot
from lakebed.transaction.conflicts.conflict_errors import file_conflict, row_conflict
from lakebed.transaction.proposal import Proposal
from lakebed.transaction.read_set import paths_of
from lakebed.transaction.row_marks import Mark, Vectors
from lakebed.transaction.winner import Winner


def rows_changed_twice(
    proposal: Proposal, _: Snapshot, winner: Winner, vectors: Vectors
) -> ConflictError | None:
    if not proposal.row_level:
        return None
    disputed: dict[str, RowIndexSet] = {}
    unsettled: list[str] = []
    for mark in _touched(proposal.marks, winner):
        added = winner.adds_by_path.get(mark.path)
        if added is not None:
            # The vector before it has none of them: they were all there.
            deleted = vectors.rows(added)
            both, lost = _common(mark.rows, deleted), _common(mark.seen, deleted)
        elif _deletes_all_rows(winner, mark.path):
            both, lost = mark.rows, mark.seen
        else:
            both, lost = RowIndexSet(), mark.rows.union(mark.seen)
        if both.cardinality:
            disputed[mark.path] = both
        elif lost.cardinality:
            unsettled.append(mark.path)
    if disputed:
        return row_conflict(winner, disputed)
    if unsettled:
        what = "removed files, or rows of them, that this commit depends on"
        return file_conflict(ConcurrentDeleteReadError, winner, what, unsettled)
    return None


def _touched(marks: Sequence[Mark], winner: Winner) -> list[Mark]:
    """Those of files that are no longer as they were."""
    if not marks:
        return []
    changed = winner.removed_paths | winner.adds_by_path.keys()
    return [mark for mark in marks if mark.path in changed]


def _deletes_all_rows(winner: Winner, path: str) -> bool:
    """Whether the rows of a file that is gone can be nowhere else."""
    moved = paths_of(remove.path for remove in winner.removes if not remove.data_change)
    return path not in moved and winner.adds_by_path.keys() <= winner.removed_paths


def _common(one: RowIndexSet, other: RowIndexSet) -> RowIndexSet:
    return one.difference(one.difference(other))
