"""The rows of a MERGE without Spark.

The files that the source can match are read once, with the columns of the condition and of the
clauses' conditions alone: this finds the pairs, and the clause that each falls to. What is kept of
them is a few bytes for each row that changes. Then the rows that change are read and written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.arrow.in_order import Job, in_order
from lakebed.commands.merge.ambiguous_match import SHOWN, ambiguous_match
from lakebed.commands.merge.arrow.merge_clauses import Clauses
from lakebed.commands.merge.arrow.merge_source import SourceRows
from lakebed.commands.merge.merge_request import INSERTS, UPDATES, MergeRequest
from lakebed.commands.merge.merge_rows import MergeCounts, Merged
from lakebed.commands.rows.arrow.row_scan import POSITION, RowScan
from lakebed.commands.rows.arrow.table_changes import NewRows, TableChanges
from lakebed.commands.rows.row_change import RowChange
from lakebed.commands.target.write_target import Target
from lakebed.errors import MultipleMatchesError
from lakebed.expressions import Expression, evaluate
from lakebed.formats.deletion_vectors import RowIndexSet
from lakebed.formats.file_actions import adds_from_table
from lakebed.log.file_state import ADD_FIELDS
from lakebed.log.selection import select_files
from lakebed.log.snapshot import Snapshot
from lakebed.spec.schema import StructType


class TableMerge:
    """The source is in memory for all attempts."""

    def __init__(self, request: MergeRequest, most_bytes: int) -> None:
        self._request = request
        self._source = SourceRows.of(request.source)
        self._most_bytes = most_bytes

    def attempt(self, snapshot: Snapshot, change: RowChange) -> TableMergeAttempt:  # noqa: ARG002
        return TableMergeAttempt(snapshot, self._request, self._source, self._most_bytes)


@dataclass(frozen=True)
class Found:
    """Rows of one file that change, in the order of the file.

    `matches` are the places of the rows of the source that they match, null if there is none;
    `actions` are the numbers of the clauses.
    """

    positions: pa.Array
    matches: pa.Array
    actions: pa.Array


@dataclass(frozen=True)
class _Piece:
    """What was found in some rows of a file. `used` are rows of the source that match, `seen` are
    positions of rows that match and stay.
    """

    number: int
    found: Found
    used: pa.Array
    seen: pa.Array


@dataclass
class _Findings:
    pieces: dict[int, list[Found]] = field(default_factory=dict)
    used: RowIndexSet = field(default_factory=RowIndexSet)
    seen: dict[int, RowIndexSet] = field(default_factory=dict)

    def take(self, piece: _Piece) -> None:
        if len(piece.found.positions):
            self.pieces.setdefault(piece.number, []).append(piece.found)
        if len(piece.used):
            self.used = self.used.union(RowIndexSet.from_indexes(piece.used))
        if len(piece.seen):
            known = self.seen.get(piece.number, RowIndexSet())
            self.seen[piece.number] = known.union(RowIndexSet.from_indexes(piece.seen))

    def by_file(self) -> dict[int, Found]:
        return {number: _together(pieces) for number, pieces in self.pieces.items()}


@dataclass(frozen=True)
class TableMergeAttempt:
    snapshot: Snapshot
    request: MergeRequest
    source: SourceRows
    most_bytes: int

    @property
    def source_schema(self) -> StructType:
        return self.source.schema

    def run(self, table: Target | None) -> Merged:
        schema = self.snapshot.schema if table is None else table.schema
        clauses = Clauses(self.request, schema, self.snapshot.schema, self.source)
        clauses.check()
        by_source = self.request.has("not_matched_by_source")
        predicate = None if by_source else clauses.join.predicate(self.snapshot)
        scan = self._scan(predicate)
        findings = _Finder(self, clauses, scan).run()
        found = findings.by_file()
        inserted = self._inserted(clauses, findings.used)
        counts = self._counts(found)
        num_inserted = sum(rows.table.num_rows for rows in inserted)
        updates = pa.array(self.request.numbers(*UPDATES), pa.int32())
        changes = TableChanges(
            scan,
            self.most_bytes,
            predicate,
            {number: RowIndexSet.from_indexes(each.positions) for number, each in found.items()},
            updates=partial(self._updated, clauses, found),
            update_columns=clauses.update_columns(),
            updated_files=[
                number
                for number, each in found.items()
                if pc.any(pc.is_in(each.actions, value_set=updates), min_count=0).as_py()
            ],
            inserts=inserted,
            seen=findings.seen,
            num_new=counts.updated + num_inserted,
            table=table,
        )
        return Merged(changes, counts, lambda: num_inserted > 0)

    def _scan(self, predicate: Expression | None) -> RowScan:
        files = select_files(self.snapshot, predicate, ADD_FIELDS).files
        return RowScan(self.snapshot, list(adds_from_table(files)))

    def _inserted(self, clauses: Clauses, used: RowIndexSet) -> list[NewRows]:
        if not self.request.numbers(*INSERTS):
            return []
        unmatched = pc.indices_nonzero(used.keep_mask(self.source.num_rows))
        return clauses.inserted(unmatched.cast(pa.int64()))

    def _updated(
        self,
        clauses: Clauses,
        found: Mapping[int, Found],
        number: int,
        first: int,
        rows: pa.Table,
    ) -> Iterator[NewRows]:
        actions = found[number].actions.slice(first, rows.num_rows)
        matches = found[number].matches.slice(first, rows.num_rows)
        for clause in self.request.numbers(*UPDATES):
            places = pc.indices_nonzero(pc.equal(actions, clause)).cast(pa.int64())
            if len(places):
                is_matched = self.request.clauses[clause].kind == "matched"
                others = matches.take(places) if is_matched else None
                yield NewRows(clauses.updated(clause, rows.take(places), others), places)

    def _counts(self, found: Mapping[int, Found]) -> MergeCounts:
        totals: dict[int, int] = {}
        for each in found.values():
            for entry in pc.value_counts(each.actions).to_pylist():
                totals[entry["values"]] = totals.get(entry["values"], 0) + entry["counts"]
        clauses = self.request.clauses

        def total(numbers: Sequence[int], *, matched: bool = False) -> int:
            chosen = (n for n in numbers if not matched or clauses[n].kind == "matched")
            return sum(totals.get(number, 0) for number in chosen)

        updates, deletes = self.request.numbers(*UPDATES), self.request.numbers("delete")
        return MergeCounts(
            self.source.num_rows,
            total(updates),
            total(updates, matched=True),
            total(deletes),
            total(deletes, matched=True),
        )


class _Finder:
    """Finds the rows that change, several files at a time."""

    def __init__(self, attempt: TableMergeAttempt, clauses: Clauses, scan: RowScan) -> None:
        self._attempt = attempt
        self._request = attempt.request
        self._clauses = clauses
        self._join = clauses.join
        self._scan = scan
        self._names = clauses.target_columns()
        self._matched = clauses.action("matched")
        self._others = clauses.action("not_matched_by_source")
        matched = [each for each in self._request.clauses if each.kind == "matched"]
        takes_all = any(each.condition is None for each in matched)
        self._inserts = bool(self._request.numbers(*INSERTS))
        self._notes_seen = self._inserts and not takes_all

    def run(self) -> _Findings:
        findings = _Findings()
        for piece in in_order(self._jobs(), self._attempt.most_bytes):
            findings.take(piece)
        return findings

    def _jobs(self) -> Iterator[Job[_Piece]]:
        """Each look-up costs as much as the source is large: small files share one."""
        wanted = max(_FEW_ROWS, min(self._attempt.source.num_rows, _MANY_ROWS))
        group: list[int] = []
        num_rows = 0
        for number in range(len(self._scan.adds)):
            group.append(number)
            num_rows += self._scan.files.num_rows_of(number)
            if num_rows >= wanted:
                yield self._job(group)
                group, num_rows = [], 0
        if group:
            yield self._job(group)

    def _job(self, group: Sequence[int]) -> Job[_Piece]:
        size = sum(self._scan.adds[number].size for number in group)
        return Job(partial(self._look_up, tuple(group)), size)

    def _look_up(self, group: Sequence[int]) -> Iterator[_Piece]:
        held: list[tuple[int, pa.Table]] = []
        num_rows = 0
        for number in group:
            for rows in self._scan.rows_of(number, self._names):
                held.append((number, rows))
                num_rows += rows.num_rows
                if num_rows >= _MANY_ROWS:
                    yield from self._pieces(held)
                    held, num_rows = [], 0
        yield from self._pieces(held)

    def _pieces(self, held: Sequence[tuple[int, pa.Table]]) -> Iterator[_Piece]:
        if not held:
            return
        rows = pa.concat_tables(table for _, table in held).combine_chunks()
        here, there = self._join.pairs(rows)
        start = 0
        for number, table in held:
            end = start + table.num_rows
            first, last = _bound(here, start), _bound(here, end)
            own = rows.slice(start, table.num_rows)
            local = pc.subtract(here.slice(first, last - first), start)
            yield self._piece(number, own, local, there.slice(first, last - first))
            start = end

    def _piece(self, number: int, rows: pa.Table, here: pa.Array, there: pa.Array) -> _Piece:
        positions = _single(rows.column(POSITION))
        found, seen = [], _NONE
        if len(here) and self._matched is not None:
            joined = self._join.joined(rows, here, there, self._matched)
            actions = _single(evaluate(self._matched, joined))
            acts = pc.is_valid(actions)
            if self._notes_seen:
                seen = positions.take(here.filter(pc.invert(acts)))
            places = here.filter(acts)
            found.append(
                self._unique(number, positions, places, there.filter(acts), actions.filter(acts))
            )
        elif len(here) and self._notes_seen:
            seen = positions.take(here)
        if self._others is not None:
            found.append(self._not_matched(rows, positions, here))
        used = pc.unique(there) if self._inserts else _NONE
        return _Piece(number, _together(found), used, seen)

    def _unique(
        self,
        number: int,
        positions: pa.Array,
        places: pa.Array,
        matches: pa.Array,
        actions: pa.Array,
    ) -> Found:
        """Only one row of the source may change a row, unless it is deleted whatever that is."""
        if len(pc.unique(places)) != len(places):
            if not self._request.only_deletes_matches:
                raise self._ambiguous(number, positions, places, matches)
            places = pc.unique(places)
            matches, actions = matches.slice(0, len(places)), actions.slice(0, len(places))
        return Found(positions.take(places), matches, actions)

    def _ambiguous(
        self, number: int, positions: pa.Array, places: pa.Array, matches: pa.Array
    ) -> MultipleMatchesError:
        counts = pc.value_counts(places)
        is_doubled = pc.greater(counts.field("counts"), 1)
        place = counts.field("values").filter(is_doubled)[0]
        own = matches.filter(pc.equal(places, place))
        shown = self._attempt.source.table.take(own.slice(0, SHOWN)).to_pylist()
        where = (self._scan.adds[number], positions[place.as_py()].as_py())
        keys = self._join.key_columns
        return ambiguous_match(self._attempt.snapshot, where, keys, len(own), shown)

    def _not_matched(self, rows: pa.Table, positions: pa.Array, here: pa.Array) -> Found:
        assert self._others is not None
        matched = RowIndexSet.from_indexes(here)
        actions = _single(evaluate(self._others, rows))
        acts = pc.and_(pc.is_valid(actions), matched.keep_mask(rows.num_rows))
        chosen = actions.filter(acts)
        return Found(positions.filter(acts), pa.nulls(len(chosen), pa.int64()), chosen)


def _together(pieces: Sequence[Found]) -> Found:
    """All rows in the order of the file."""
    if not pieces:
        return Found(_NONE, _NONE, pa.array([], pa.int32()))
    if len(pieces) == 1:
        return pieces[0]
    whole = Found(
        pa.concat_arrays([each.positions for each in pieces]),
        pa.concat_arrays([each.matches for each in pieces]),
        pa.concat_arrays([each.actions for each in pieces]),
    )
    order = pc.sort_indices(whole.positions)
    return replace(
        whole,
        positions=whole.positions.take(order),
        matches=whole.matches.take(order),
        actions=whole.actions.take(order),
    )


def _bound(places: pa.Array, value: int) -> int:
    """How many of the places, which are in ascending order, are less than the value."""
    low, high = 0, len(places)
    while low < high:
        middle = (low + high) // 2
        if places[middle].as_py() < value:
            low = middle + 1
        else:
            high = middle
    return low


def _single(values: pa.ChunkedArray) -> pa.Array:
    combined = values.combine_chunks()
    if isinstance(combined, pa.ChunkedArray):
        return combined.chunk(0) if combined.num_chunks else pa.array([], combined.type)
    return combined


_NONE = pa.array([], pa.int64())
_FEW_ROWS = 1 << 16
_MANY_ROWS = 1 << 20
