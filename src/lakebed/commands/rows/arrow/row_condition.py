"""The condition of a DELETE or an UPDATE without Spark: which files and rows it selects.

One pass over the files reads the columns of the condition and notes the positions of its rows; a
second one reads the rows that change, where new ones are to be written. If there is little to read,
the first pass of an UPDATE keeps the rows for the second.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.arrow.in_order import Job, in_order
from lakebed.commands.rows.arrow.new_values import NewValues, bound_values
from lakebed.commands.rows.arrow.row_scan import POSITION, RowScan
from lakebed.commands.rows.arrow.table_changes import NewRows, TableChanges
from lakebed.commands.rows.assignments import Assignment, is_generated
from lakebed.commands.rows.change_target import described
from lakebed.commands.rows.row_change import RowChange
from lakebed.expressions import Expression, evaluate, parse_predicate, references
from lakebed.formats.deletion_vectors import RowIndexSet
from lakebed.formats.file_actions import adds_from_table
from lakebed.log.file_state import ADD_FIELDS
from lakebed.log.selection import select_files
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Add
from lakebed.transaction import Operation


@dataclass(frozen=True)
class RowCondition:
    """`most_bytes` is about how much of the files may be in memory."""

    snapshot: Snapshot
    condition: str | None
    command: str
    most_bytes: int
    said: str | None = None
    """The condition for the history where it selects all rows."""

    @cached_property
    def predicate(self) -> Expression | None:
        if self.condition is None:
            return None
        return parse_predicate(self.condition, self.snapshot.schema)

    @property
    def operation(self) -> Operation:
        shown = self.condition if self.said is None else self.said
        return Operation(self.command, {"predicate": described(shown)})

    @property
    def selects_whole_files(self) -> bool:
        """Whether the log alone tells: all rows, or all rows of some partitions."""
        if self.predicate is None:
            return True
        partitions = {name.lower() for name in self.snapshot.partition_columns}
        return all(path[0].lower() in partitions for path in references(self.predicate))

    def files(self) -> list[Add]:
        """The files that may have such rows, by the log."""
        return list(adds_from_table(select_files(self.snapshot, self.predicate, ADD_FIELDS).files))

    def deleted(self, adds: Sequence[Add], change: RowChange) -> TableChanges | None:  # noqa: ARG002
        scan = RowScan(self.snapshot, adds)
        marks = {number: marked for number, marked, _ in self._find(scan)}
        return TableChanges(scan, self.most_bytes, self.predicate, marks) if marks else None

    def updated(
        self,
        adds: Sequence[Add],
        given: Sequence[Assignment],
        change: RowChange,  # noqa: ARG002
    ) -> TableChanges | None:
        schema = self.snapshot.schema
        values = NewValues(schema, bound_values(given, schema))
        scan = RowScan(self.snapshot, adds)
        columns = self._kept_columns(values)
        if self.snapshot.properties.enable_change_data_feed:
            columns = {name.lower() for name in schema.names}
        is_little = sum(add.size for add in adds) <= min(_LITTLE_BYTES, self.most_bytes // 8)
        found = list(self._find(scan, columns if is_little else None))
        if not found:
            return None
        marks = {number: marked for number, marked, _ in found}
        return TableChanges(
            scan,
            self.most_bytes,
            self.predicate,
            marks,
            updates=partial(self._updates, values),
            update_columns=columns,
            updated_files=marks.keys(),
            known={number: rows for number, _, rows in found} if is_little else {},
            num_new=sum(rows.cardinality for rows in marks.values()),
        )

    def _kept_columns(self, values: NewValues) -> set[str]:
        assigned = {each.path[0] for each in values.values}
        kept = (
            field.name.lower()
            for field in self.snapshot.schema.fields
            if field.name not in assigned and not is_generated(field)
        )
        return values.kept_columns() | set(kept)

    def _updates(self, values: NewValues, _: int, __: int, rows: pa.Table) -> Iterator[NewRows]:
        """Generated columns that are not set are computed again."""
        changed = values.of(rows, rows)
        columns = {
            field.name: changed[field.name] if field.name in changed else rows.column(field.name)
            for field in self.snapshot.schema.fields
            if field.name in changed or not is_generated(field)
        }
        yield NewRows(pa.table(columns))

    # --- finding rows ---

    def _find(
        self, scan: RowScan, kept: Collection[str] | None = None
    ) -> Iterator[tuple[int, RowIndexSet, list[pa.Table]]]:
        """The rows of each file for which the condition is true.

        With `kept` the rows themselves come too, with the columns of these names.
        """
        jobs = (
            Job(partial(self._matching, scan, number, kept), add.size)
            for number, add in enumerate(scan.adds)
        )
        found: dict[int, list[pa.Table]] = {}
        for number, rows in in_order(jobs, self.most_bytes):
            found.setdefault(number, []).append(rows)
        for number, pieces in found.items():
            positions = pa.chunked_array([c for p in pieces for c in p.column(POSITION).chunks])
            yield number, RowIndexSet.from_indexes(positions), pieces

    def _matching(
        self, scan: RowScan, number: int, kept: Collection[str] | None
    ) -> Iterator[tuple[int, pa.Table]]:
        names = {path[0].lower() for path in references(self.predicate)} if self.predicate else ()
        for rows in scan.rows_of(number, {*names, *(kept or ())}, with_ids=kept is not None):
            chosen = rows if kept is not None else rows.select([POSITION])
            if self.predicate is not None:
                is_match = pc.fill_null(evaluate(self.predicate, rows), False)
                chosen = chosen.filter(is_match)
            if chosen.num_rows:
                yield number, chosen


_LITTLE_BYTES = 64 << 20
