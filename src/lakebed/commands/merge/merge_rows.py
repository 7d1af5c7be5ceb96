"""MERGE: rows of a source update, delete and insert rows of the table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from lakebed.commands.merge.merge_request import Clause, MergeRequest, assigned_schema
from lakebed.commands.rows.change_target import ChangeTarget
from lakebed.commands.rows.row_change import ChangedRows, RowChange
from lakebed.commands.target.write_target import Target, evolved_table
from lakebed.log.snapshot import Snapshot
from lakebed.spec.schema import StructType
from lakebed.transaction import Operation


@dataclass(frozen=True)
class Merged:
    """What the clauses make of the rows of one version."""

    rows: ChangedRows
    counts: MergeCounts
    inserts: Callable[[], bool]
    """Whether there are rows to insert."""
    source_millis: int = 0
    """How long it took to store the source, if it had to be."""


@dataclass(frozen=True)
class MergeCounts:
    """Rows of the source, and of the target by what becomes of them."""

    source: int
    updated: int
    matched_updated: int
    deleted: int
    matched_deleted: int


class MergeAttempt(Protocol):
    """A MERGE into one version, on any data plane."""

    @property
    def source_schema(self) -> StructType: ...

    def run(self, table: Target | None) -> Merged:
        """Finds the rows. `table` is what the table becomes, if its schema changes."""
        ...


class Merging(Protocol):
    """A MERGE on any data plane, for as many attempts as it takes."""

    def attempt(self, snapshot: Snapshot, change: RowChange) -> MergeAttempt: ...


class MergeTarget(ChangeTarget, Protocol):
    @property
    def merges_schemas(self) -> bool:
        """Whether schemas evolve though the request does not say so."""
        ...

    def merging(self, request: MergeRequest) -> Merging: ...


def merge_rows(target: MergeTarget, request: MergeRequest) -> dict[str, int]:
    """Merges; what the history says about it, `numTargetRowsUpdated` among it."""
    if target.merges_schemas:
        request = replace(request, schema_evolution=True)
    merging = target.merging(request)
    return target.change(lambda snapshot: _Merge(target, snapshot, request, merging).run())


class _Merge:
    """One attempt."""

    def __init__(
        self, target: MergeTarget, snapshot: Snapshot, request: MergeRequest, merging: Merging
    ) -> None:
        self._snapshot = snapshot
        self._request = request
        operation = Operation("MERGE", _parameters(target, request))
        self._change = RowChange(target, snapshot, operation, _NAMES)
        self._attempt = merging.attempt(snapshot, self._change)

    def run(self) -> dict[str, int]:
        merged = self._attempt.run(self._table())
        if self._is_nothing(merged):
            return {"numSourceRows": merged.counts.source, **dict.fromkeys(_COUNTS, 0)}
        updated = merged.counts.updated
        return self._change.commit(
            merged.rows,
            lambda new, copied: {
                **_counts(merged.counts, new - updated),
                "numOutputRows": new + copied,
                "materializeSourceTimeMs": merged.source_millis,
            },
        )

    def _is_nothing(self, merged: Merged) -> bool:
        if merged.rows.marks or merged.rows.table is not None:
            return False
        return not merged.inserts()

    def _table(self) -> Target | None:
        """The table with the columns that only the source has, if that is wanted."""
        if not self._request.schema_evolution:
            return None
        given = assigned_schema(self._request, self._attempt.source_schema, self._snapshot.schema)
        if not given.fields:
            return None
        target = evolved_table(self._snapshot, given)
        return None if target.metadata == self._snapshot.metadata else target


def _counts(counts: MergeCounts, inserted: int) -> dict[str, int]:
    return {
        "numSourceRows": counts.source,
        "numTargetRowsInserted": inserted,
        "numTargetRowsUpdated": counts.updated,
        "numTargetRowsDeleted": counts.deleted,
        "numTargetRowsMatchedUpdated": counts.matched_updated,
        "numTargetRowsMatchedDeleted": counts.matched_deleted,
        "numTargetRowsNotMatchedBySourceUpdated": counts.updated - counts.matched_updated,
        "numTargetRowsNotMatchedBySourceDeleted": counts.deleted - counts.matched_deleted,
    }


def _parameters(target: MergeTarget, request: MergeRequest) -> dict[str, Any]:
    """As delta-spark records them."""
    found: dict[str, Any] = {"predicate": target.described(request.condition)}
    for key, kind in _PREDICATES.items():
        clauses = [each for each in request.clauses if each.kind == kind]
        found[key] = [_clause(target, each) for each in clauses]
    return found


def _clause(target: MergeTarget, clause: Clause) -> dict[str, str]:
    action = {"actionType": clause.action.removesuffix("_all")}
    if clause.condition is None:
        return action
    return {"predicate": target.described(clause.condition)[0], **action}


_PREDICATES = {
    "matchedPredicates": "matched",
    "notMatchedPredicates": "not_matched",
    "notMatchedBySourcePredicates": "not_matched_by_source",
}
_COUNTS = (
    "numTargetRowsInserted",
    "numTargetRowsUpdated",
    "numTargetRowsDeleted",
)
_NAMES = {
    "numAddedFiles": "numTargetFilesAdded",
    "numAddedBytes": "numTargetBytesAdded",
    "numRemovedFiles": "numTargetFilesRemoved",
    "numRemovedBytes": "numTargetBytesRemoved",
    "numAddedChangeFiles": "numTargetChangeFilesAdded",
    "numCopiedRows": "numTargetRowsCopied",
    "numDeletionVectorsAdded": "numTargetDeletionVectorsAdded",
    "numDeletionVectorsRemoved": "numTargetDeletionVectorsRemoved",
    "numDeletionVectorsUpdated": "numTargetDeletionVectorsUpdated",
}
