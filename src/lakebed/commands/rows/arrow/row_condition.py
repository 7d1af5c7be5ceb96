"""The condition of a DELETE or an UPDATE without Spark: which files and rows it selects.

One pass over the files reads the columns of the condition and notes the positions of its rows; a
second one reads the rows that change, where new ones are to be written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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

    @cached_property
    def predicate(self) -> Expression | None:
        if self.condition is None:
            return None
        return parse_predicate(self.condition, self.snapshot.schema)

    @property
    def operation(self) -> Operation:
        return Operation(self.command, {"predicate": described(self.condition)})

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
        marks = self._find(scan)
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
        marks = self._find(scan)
        if not marks:
            return None
        return TableChanges(
            scan,
            self.most_bytes,
            self.predicate,
            marks,
            updates=partial(self._updates, values),
            updated_files=marks.keys(),
            num_new=sum(rows.cardinality for rows in marks.values()),
        )

    def _updates(self, values: NewValues, _: int, __: int, rows: pa.Table) -> Iterator[NewRows]:
        """Generated columns that are not set are computed again."""
        changed = values.of(rows, rows)
        columns = {
            field.name: changed.get(field.name, rows.column(field.name))
            for field in self.snapshot.schema.fields
            if field.name in changed or not is_generated(field)
        }
        yield NewRows(pa.table(columns))

    # --- finding rows ---

    def _find(self, scan: RowScan) -> dict[int, RowIndexSet]:
        """The rows for which the condition is true, by the number of their file."""
        marks: dict[int, list[pa.Array]] = {}
        jobs = (
            Job(partial(self._positions, scan, number), add.size)
            for number, add in enumerate(scan.adds)
        )
        for number, found in in_order(jobs, self.most_bytes):
            marks.setdefault(number, []).append(found)
        return {
            number: RowIndexSet.from_indexes(pa.chunked_array(found))
            for number, found in marks.items()
        }

    def _positions(self, scan: RowScan, number: int) -> Iterator[tuple[int, pa.Array]]:
        names = {path[0].lower() for path in references(self.predicate)} if self.predicate else ()
        for rows in scan.rows_of(number, names):
            found = rows.column(POSITION)
            if self.predicate is not None:
                is_match = pc.fill_null(evaluate(self.predicate, rows), False)
                found = found.filter(is_match)
            if len(found):
                yield number, found.combine_chunks()
