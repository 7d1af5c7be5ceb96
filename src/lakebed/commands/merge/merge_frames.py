"""The rows of a MERGE by Spark.

The target is scanned once, joined with the source from its side: an inner join, or a left one where
rows without a match in the source matter too, so that a small source is broadcast and the target is
never shuffled. What the clauses make of the matches is stored; all that follows (positions, new
rows, the change feed) is read from there. Rows to insert are those of the source that no match
names. Parts of the target that the source cannot meet, by its keys, are not read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame

from lakebed.commands.merge.merge_clauses import (
    ACTION,
    SOURCE,
    Clauses,
    bound_request,
    output_name,
    target_name,
)
from lakebed.commands.merge.merge_request import INSERTS, UPDATES, MergeRequest
from lakebed.commands.merge.merge_rows import MergeCounts, Merged
from lakebed.commands.merge.merge_source import (
    MergeJoin,
    MergeSource,
    MergeSources,
    SourceSummary,
)
from lakebed.commands.rows.assignments import is_generated
from lakebed.commands.rows.frame_changes import FrameChanges, NewRows
from lakebed.commands.rows.row_change import CHANGE_TYPE, RowChange
from lakebed.commands.rows.row_positions import IN_ANY_ORDER, RowPositions
from lakebed.commands.rows.row_scan import ROW_VERSION, RowScan
from lakebed.commands.target.row_target import RowTarget
from lakebed.commands.target.write_target import Target
from lakebed.data_files.identity_high_water_marks import generated_identity_columns
from lakebed.formats.deletion_vectors import RowIndexSet
from lakebed.log.snapshot import Snapshot
from lakebed.spark.plane.position_bitmaps import FILE, POSITION, Positions
from lakebed.spark.read.command_reads import CommandReads
from lakebed.spark.session.session_kind import functions_of
from lakebed.spark.write.generated_values import default_value, with_generated
from lakebed.spec.columns.column_metadata import identity
from lakebed.spec.schema import StructType


class FrameMerge:
    """The source is read once for all attempts, unless it reads the table, which has changed."""

    def __init__(self, target: RowTarget, request: MergeRequest) -> None:
        self._target = target
        self._request = request
        self._sources = MergeSources(request)

    def attempt(self, snapshot: Snapshot, change: RowChange) -> FrameMergeAttempt:
        reads = CommandReads.of_row_change(change.transaction)
        source = self._sources.of(reads)
        return FrameMergeAttempt(self._target, snapshot, self._request, source, reads)


class FrameMergeAttempt:
    """One attempt."""

    def __init__(
        self,
        target: RowTarget,
        snapshot: Snapshot,
        request: MergeRequest,
        source: MergeSource,
        reads: CommandReads,
    ) -> None:
        self._target = target
        self._snapshot = snapshot
        self._reads = reads
        self._source = source
        self._request = bound_request(target, snapshot, request, source.schema)
        self._join = MergeJoin(target, snapshot, self._request, self._source)
        self._f = functions_of(request.source)
        self._feed = bool(snapshot.properties.enable_change_data_feed)

    @property
    def source_schema(self) -> StructType:
        return self._source.schema

    def run(self, table: Target | None) -> Merged:
        self._schema = self._snapshot.schema if table is None else table.schema
        summary = self._join.summary()
        predicate = None if self._request.has("not_matched_by_source") else summary.predicate
        scan = self._join.scan(predicate)
        changed = self._changed(scan, summary)
        marked = changed.where(self._f.col(ACTION).isNotNull())
        finder = RowPositions(scan, self._target.most(IN_ANY_ORDER))
        positions = self._positions(marked, finder)
        inserted = self._inserted(changed)
        updated = positions.sums["updated"]
        inserts = self._inserts(inserted)
        rows = FrameChanges(
            scan,
            predicate,
            positions.rows,
            [*self._updates(changed, scan.row_columns), *inserts],
            self._changes(changed, inserts) if self._feed else None,
            seen=self._seen(changed, finder),
            has_updates=updated > 0,
            num_new=None if inserts else updated,
            table=table,
        )
        return Merged(
            rows,
            _counts(summary, positions),
            lambda: inserted is not None and not inserted.isEmpty(),
            self._source.millis,
        )

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
        changed = self._reads.pinned(acted.where(counts).select(*columns))
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
        return self._reads.pinned(acted.where(f.col(ACTION).isNotNull()))

    def _inserts(self, inserted: DataFrame | None) -> list[NewRows]:
        if inserted is None:
            return []
        f = self._f
        rows = []
        for number in self._request.numbers(*INSERTS):
            given = self._insertions.columns.given(number)
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
            given = self._clauses.columns.given(number)
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


def _counts(summary: SourceSummary, positions: Positions) -> MergeCounts:
    updated, other = positions.sums["updated"], positions.sums["other_deleted"]
    deleted = positions.num_rows - updated
    return MergeCounts(
        summary.num_rows, updated, positions.sums["matched_updated"], deleted, deleted - other
    )


_MATCHED = "__lakebed_matched"
