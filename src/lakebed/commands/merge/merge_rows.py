"""MERGE: rows of a source update, delete and insert rows of the table.

The target is scanned once, joined with the source from its side: an inner join, or a left one where
rows without a match in the source matter too, so that a small source is broadcast and the target is
never shuffled. What the clauses make of the matches is stored; all that follows (positions, new
rows, the change feed) is read from there. Rows to insert are those of the source that no match
names. Parts of the target that the source cannot meet, by its keys, are not read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from lakebed.commands.merge.merge_clauses import (
    ACTION,
    SOURCE,
    Clauses,
    assigned_schema,
    bound_request,
    output_name,
    target_name,
)
from lakebed.commands.merge.merge_request import INSERTS, UPDATES, Clause, MergeRequest
from lakebed.commands.merge.merge_source import MergeJoin, MergeSources, SourceSummary
from lakebed.commands.optimize.auto_compaction import auto_compact
from lakebed.commands.rows.assignments import is_generated
from lakebed.commands.rows.row_change import CHANGE_TYPE, ChangedRows, NewRows, RowChange
from lakebed.commands.rows.row_condition import described
from lakebed.commands.rows.row_positions import IN_ANY_ORDER, RowPositions
from lakebed.commands.rows.row_scan import ROW_VERSION, RowScan
from lakebed.commands.target.row_target import RowTarget
from lakebed.commands.target.write_target import Target, evolved_table
from lakebed.data_files.identity_high_water_marks import generated_identity_columns
from lakebed.formats.deletion_vectors import RowIndexSet
from lakebed.log.snapshot import Snapshot
from lakebed.spark.internals.call_sites import without_call_sites
from lakebed.spark.plane.position_bitmaps import FILE, POSITION, Positions
from lakebed.spark.session.session_kind import functions_of
from lakebed.spark.write.generated_values import default_value, with_generated
from lakebed.spec.columns.column_metadata import identity
from lakebed.spec.schema import StructType
from lakebed.transaction import Operation


@without_call_sites()
def merge_rows(target: RowTarget, request: MergeRequest) -> dict[str, int]:
    """Merges; what the history says about it, `numTargetRowsUpdated` among it."""
    if target.merges_schemas:
        request = replace(request, schema_evolution=True)
    sources = MergeSources(request)
    metrics = target.change(lambda snapshot: _Merge(target, snapshot, request, sources).run())
    auto_compact(target)
    return metrics


class _Merge:
    """One attempt."""

    def __init__(
        self, target: RowTarget, snapshot: Snapshot, request: MergeRequest, sources: MergeSources
    ) -> None:
        self._target = target
        self._snapshot = snapshot
        operation = Operation("MERGE", _parameters(target.session, request))
        self._change = RowChange(target, snapshot, operation, _NAMES)
        self._source = sources.of(self._change.reads)
        self._request = bound_request(target, snapshot, request, self._source.schema)
        self._join = MergeJoin(target, snapshot, self._request, self._source)
        self._f = functions_of(request.source)
        self._feed = bool(snapshot.properties.enable_change_data_feed)

    def run(self) -> dict[str, int]:
        summary = self._join.summary()
        predicate = None if self._request.has("not_matched_by_source") else summary.predicate
        scan = self._join.scan(predicate)
        changed = self._changed(scan, summary)
        marked = changed.where(self._f.col(ACTION).isNotNull())
        finder = RowPositions(scan, self._target.most(IN_ANY_ORDER))
        positions = self._positions(marked, finder)
        inserted = self._inserted(changed)
        self._change.transaction.read_predicate(predicate)
        updated = positions.sums["updated"]
        inserts = self._inserts(inserted)
        rows = ChangedRows(
            scan,
            positions.rows,
            [*self._updates(changed, scan.row_columns), *inserts],
            self._changes(changed, inserts) if self._feed else None,
            seen=self._seen(changed, finder),
            has_updates=updated > 0,
            num_new=None if inserts else updated,
            table=self._table,
        )
        if self._is_nothing(rows, inserted):
            return {"numSourceRows": summary.num_rows, **dict.fromkeys(_COUNTS, 0)}
        return self._change.commit(
            rows,
            lambda new, copied: {
                **_counts(summary, positions, new - updated),
                "numOutputRows": new + copied,
                "materializeSourceTimeMs": self._source.millis,
            },
        )

    def _is_nothing(self, rows: ChangedRows, inserted: DataFrame | None) -> bool:
        if rows.marks or rows.table is not None:
            return False
        return inserted is None or bool(inserted.isEmpty())

    # --- the matches ---

    def _changed(self, scan: RowScan, summary: SourceSummary) -> DataFrame:
        """The matches that a clause applies to, or all if rows are inserted; stored.

        Where rows are only deleted and there is no change feed, nothing is stored.
        """
        f = self._f
        by_source = self._request.has("not_matched_by_source")
        joined = self._join.joined(scan, "left" if by_source else "inner", summary)
        self._clauses = Clauses(
            self._request,
            self._schema,
            self._snapshot.schema,
            self._source.schema,
            joined,
        )
        is_matched = f.col(SOURCE).isNotNull()
        kinds = {"matched": is_matched, "not_matched_by_source": ~is_matched}
        acted = joined.withColumn(ACTION, self._clauses.action(kinds))
        counts = f.col(ACTION).isNotNull()
        if self._request.numbers(*INSERTS):
            counts = counts | is_matched
        columns = [f.col(FILE), f.col(POSITION), f.col(SOURCE), f.col(ACTION)]
        columns += [f.col(name) for name in scan.row_columns]
        updates = self._request.numbers(*UPDATES)
        if updates:
            columns += [
                self._clauses.output(updates, field).alias(output_name(number))
                for number, field in enumerate(self._schema.fields)
            ]
        if self._feed:
            columns += [f.col(target_name(number)) for number in range(len(self._snapshot.schema))]
        changed = self._change.reads.pinned(acted.where(counts).select(*columns))
        is_read_once = not updates and not self._request.numbers(*INSERTS) and not self._feed
        return changed if is_read_once else changed.localCheckpoint()

    def _positions(self, marked: DataFrame, finder: RowPositions) -> Positions:
        f = self._f
        is_matched = f.col(SOURCE).isNotNull()
        is_update = f.col(ACTION).isin(self._request.numbers(*UPDATES) or [-1])
        sums = {
            "updated": is_update,
            "matched_updated": is_update & is_matched,
            "other_deleted": ~is_update & ~is_matched,
        }
        positions = finder.find(marked, sums)
        if positions.has_doubles and not self._request.only_deletes_matches:
            raise self._join.ambiguous_match(marked, finder.scan)
        return positions

    def _seen(self, changed: DataFrame, finder: RowPositions) -> Mapping[int, RowIndexSet]:
        """Rows that nothing happens to, but that kept a row of the source from being inserted."""
        matched = [clause for clause in self._request.clauses if clause.kind == "matched"]
        takes_all = any(clause.condition is None for clause in matched)
        if not self._request.numbers(*INSERTS) or takes_all:
            return {}
        f = self._f
        return finder.find(changed.where(f.col(ACTION).isNull())).rows

    # --- new rows ---

    def _updates(self, changed: DataFrame, row_columns: Sequence[str]) -> list[NewRows]:
        f = self._f
        rows = []
        for given, numbers in self._by_columns(self._request.numbers(*UPDATES)):
            chosen = changed.where(f.col(ACTION).isin(numbers))
            columns = [
                f.col(output_name(number)).alias(field.name)
                for number, field in enumerate(self._schema.fields)
            ]
            for name in row_columns:
                # The version of a row that changes is that of the commit.
                kept = f.lit(None).cast("long") if name == ROW_VERSION else f.col(name)
                columns.append(kept.alias(name))
            rows.append(NewRows(chosen.select(*columns), given, updated=True))
        return rows

    def _inserted(self, changed: DataFrame) -> DataFrame | None:
        """The rows of the source without a match, and the clause that each falls to."""
        if not self._request.numbers(*INSERTS):
            return None
        f = self._f
        matched = changed.where(f.col(SOURCE).isNotNull()).select(f.col(SOURCE).alias(_MATCHED))
        source = self._source.frame
        rows = source.join(matched, f.col(SOURCE) == f.col(_MATCHED), "left_anti")
        self._insertions = Clauses(
            self._request, self._schema, self._snapshot.schema, self._source.schema, rows
        )
        acted = rows.withColumn(ACTION, self._insertions.action({"not_matched": f.lit(True)}))
        return self._change.reads.pinned(acted.where(f.col(ACTION).isNotNull()))

    def _inserts(self, inserted: DataFrame | None) -> list[NewRows]:
        if inserted is None:
            return []
        f = self._f
        rows = []
        for number in self._request.numbers(*INSERTS):
            given = self._insertions.given(number)
            columns = [
                self._insertions.output([number], field).alias(field.name) for field in given.fields
            ]
            new = NewRows(inserted.where(f.col(ACTION) == number).select(*columns), given)
            rows.append(self._stored(new) if self._feed else new)
        return rows

    def _stored(self, rows: NewRows) -> NewRows:
        """With defaults, and kept: the change feed has to have the very values that are written.

        Those of identity columns are drawn when the rows are written.
        """
        filled = [
            column
            for column in self._schema.fields
            if column.name not in rows.given and identity(column) is None
        ]
        filled = [column for column in filled if not is_generated(column)]
        values = {column.name: default_value(rows.frame, column) for column in filled}
        frame = rows.frame.withColumns(values) if values else rows.frame
        given = StructType((*rows.given.fields, *filled))
        return NewRows(frame.localCheckpoint(), given)

    def _by_columns(self, numbers: Sequence[int]) -> list[tuple[StructType, list[int]]]:
        """Clauses that give the same columns, together."""
        found: dict[tuple[str, ...], tuple[StructType, list[int]]] = {}
        for number in numbers:
            given = self._clauses.given(number)
            found.setdefault(given.names, (given, []))[1].append(number)
        return list(found.values())

    # --- the change feed ---

    def _changes(self, changed: DataFrame, inserts: Sequence[NewRows]) -> DataFrame:
        """All but the rows whose identity is not drawn yet; these are read when they are there."""
        f = self._f
        updates = self._request.numbers(*UPDATES)
        current = self._clauses.current()
        before = [current[field.name].alias(field.name) for field in self._schema.fields]
        is_update = f.col(ACTION).isin(updates or [-1])
        kind = f.when(is_update, "update_preimage").otherwise("delete")
        gone = changed.where(f.col(ACTION).isNotNull())
        if self._request.only_deletes_matches:
            # Only an unconditional delete may meet a row twice; the feed has it once.
            gone = gone.dropDuplicates([FILE, POSITION])
        frames = [gone.select(*before, kind.alias(CHANGE_TYPE))]
        complete = [
            rows for rows in inserts if not generated_identity_columns(rows.given, self._schema)
        ]
        for rows in [*self._updates(changed, ()), *complete]:
            name = "update_postimage" if rows.updated else "insert"
            full = with_generated(rows.frame, self._schema, rows.given.__contains__)
            frames.append(full.withColumn(CHANGE_TYPE, f.lit(name)))
        whole, *others = frames
        for each in others:
            whole = whole.unionByName(each)
        return whole

    # --- what the table is ---

    @cached_property
    def _table(self) -> Target | None:
        """The table with the columns that only the source has, if that is wanted."""
        if not self._request.schema_evolution:
            return None
        given = assigned_schema(self._request, self._source.schema, self._snapshot.schema)
        if not given.fields:
            return None
        target = evolved_table(self._snapshot, given)
        is_same = target.metadata == self._snapshot.metadata
        return None if is_same else target

    @cached_property
    def _schema(self) -> StructType:
        return self._snapshot.schema if self._table is None else self._table.schema


def _counts(summary: SourceSummary, positions: Positions, inserted: int) -> dict[str, int]:
    updated, matched = positions.sums["updated"], positions.sums["matched_updated"]
    other = positions.sums["other_deleted"]
    deleted = positions.num_rows - updated
    return {
        "numSourceRows": summary.num_rows,
        "numTargetRowsInserted": inserted,
        "numTargetRowsUpdated": updated,
        "numTargetRowsDeleted": deleted,
        "numTargetRowsMatchedUpdated": matched,
        "numTargetRowsMatchedDeleted": deleted - other,
        "numTargetRowsNotMatchedBySourceUpdated": updated - matched,
        "numTargetRowsNotMatchedBySourceDeleted": other,
    }


def _parameters(session: SparkSession, request: MergeRequest) -> dict[str, Any]:
    """As delta-spark records them."""
    found: dict[str, Any] = {"predicate": described(session, request.condition)}
    for key, kind in _PREDICATES.items():
        clauses = [each for each in request.clauses if each.kind == kind]
        found[key] = [_clause(session, each) for each in clauses]
    return found


def _clause(session: SparkSession, clause: Clause) -> dict[str, str]:
    action = {"actionType": clause.action.removesuffix("_all")}
    if clause.condition is None:
        return action
    return {"predicate": described(session, clause.condition)[0], **action}


_PREDICATES = {
    "matchedPredicates": "matched",
    "notMatchedPredicates": "not_matched",
    "notMatchedBySourcePredicates": "not_matched_by_source",
}
_MATCHED = "__lakebed_matched"
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
