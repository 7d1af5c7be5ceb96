"""Changed rows in Arrow tables: what is written of a change without Spark.

Files are read again one after the other, only the rows that change and, without deletion vectors,
those that stay; what is in memory at once is bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.arrow.in_order import Job, in_order
from lakebed.arrow.row_ids import ids_of_file, with_row_ids
from lakebed.arrow.write.growing_files import GrowingFiles
from lakebed.arrow.write.rows import prepare_rows
from lakebed.commands.rows.arrow.row_scan import POSITION, RowScan
from lakebed.commands.rows.changed_files import ChangedFiles
from lakebed.commands.rows.row_change import CHANGE_TYPE, Writing, WrittenRows
from lakebed.commands.target.write_target import Target
from lakebed.data_files.file_layout import WrittenFiles
from lakebed.data_files.file_rewrites import change_actions
from lakebed.data_files.identity_high_water_marks import (
    generated_identity_columns,
    with_new_high_water_marks,
)
from lakebed.expressions import Expression
from lakebed.formats.arrow_cast import cast_table
from lakebed.formats.deletion_vectors import RowIndexSet
from lakebed.spec.actions import Add
from lakebed.spec.paths import CHANGE_DATA_DIRECTORY
from lakebed.spec.schema import StructType


@dataclass(frozen=True)
class NewRows:
    """Rows with the columns of the table that the command gives them.

    `places` are those of the rows that they replace, None for all.
    """

    table: pa.Table
    places: pa.Array | None = None


Updates = Callable[[int, int, pa.Table], Iterable[NewRows]]
"""From the number of a file, the place of the first row among its marked ones, and some of them, to
what takes their place."""


@dataclass(frozen=True)
class TableChanges:
    """`ChangedRows` on Arrow."""

    scan: RowScan
    most_bytes: int
    """About how much may be in memory."""
    predicate: Expression | None
    marks: Mapping[int, RowIndexSet]
    updates: Updates = lambda *_: ()
    update_columns: Collection[str] | None = None
    """The names of the columns that updates look at, in lower case; None for all."""
    known: Mapping[int, Sequence[pa.Table]] = field(default_factory=dict)
    """Marked rows of some files that are in memory already, with these columns."""
    updated_files: Collection[int] = ()
    """The numbers of the files in which rows are updated."""
    inserts: Sequence[NewRows] = ()
    seen: Mapping[int, RowIndexSet] = field(default_factory=dict)
    num_new: int | None = 0
    table: Target | None = None

    @property
    def has_updates(self) -> bool:
        return bool(self.updated_files)

    @property
    def files(self) -> ChangedFiles:
        return self.scan.files

    def counted(self) -> TableChanges:
        adds = self.files.counted(self.marks).adds
        return replace(self, scan=RowScan(self.scan.snapshot, adds))

    def write(self, wanted: Writing) -> WrittenRows:
        return _TableWriter(self, wanted).run()


@dataclass(frozen=True)
class _Written:
    """Rows as files have them, and those of the change feed."""

    rows: pa.Table | None
    changes: Sequence[pa.Table] = ()


class _TableWriter:
    def __init__(self, changed: TableChanges, wanted: Writing) -> None:
        self._changed = changed
        self._scan = changed.scan
        self._wanted = wanted
        self._schema = wanted.layout.schema
        self._most_bytes = changed.most_bytes // 3
        store = changed.scan.snapshot.store
        layout = wanted.layout.with_columns(self._scan.ids)
        self._files = GrowingFiles(store, layout, self._most_bytes)
        self._changes = (
            None
            if wanted.changes is None
            else GrowingFiles(store, wanted.changes, self._most_bytes, CHANGE_DATA_DIRECTORY)
        )
        self._num_rows = 0

    def run(self) -> WrittenRows:
        try:
            for written in in_order(self._jobs(), self._most_bytes):
                self._take(written)
            schema = self._insert()
            adds = self._files.finish()
            changes = [] if self._changes is None else self._changes.finish()
        except BaseException:
            self._files.discard()
            if self._changes is not None:
                self._changes.discard()
            raise
        schema = with_new_high_water_marks(schema, self._drawn(), adds)
        files = WrittenFiles(adds, schema, self._num_rows)
        return WrittenRows(self._changed, files, change_actions(changes))

    def _take(self, written: _Written) -> None:
        if written.rows is not None:
            self._num_rows += written.rows.num_rows
            self._files.write(written.rows)
        for rows in written.changes:
            assert self._changes is not None
            self._changes.write(rows)

    # --- rows that change, and rows that stay ---

    def _jobs(self) -> Iterator[Job[_Written]]:
        marks = self._changed.marks
        for number in sorted(marks):
            if number in self._changed.updated_files or self._changes is not None:
                yield self._job(number, self._changed_rows)
            if self._wanted.copies:
                for add in self._scan.files.kept({number: marks[number]}):
                    yield self._copy(number, add)

    def _job(self, number: int, work: Callable[[int], Iterator[_Written]]) -> Job[_Written]:
        add, marked = self._scan.adds[number], self._changed.marks[number]
        share = marked.cardinality / max(1, self._scan.files.num_rows_of(number))
        return Job(lambda: work(number), int(add.size * _DECODED * max(share, _LEAST_SHARE)))

    def _copy(self, number: int, add: Add) -> Job[_Written]:
        return Job(lambda: self._kept_rows(add), self._scan.adds[number].size * _DECODED)

    def _changed_rows(self, number: int) -> Iterator[_Written]:
        add, first = self._scan.adds[number], 0
        for rows in self._marked_rows(number):
            if rows.num_rows:
                yield from self._updated(number, add, first, rows)
                first += rows.num_rows

    def _marked_rows(self, number: int) -> Iterable[pa.Table]:
        known = self._changed.known.get(number)
        if known is not None:
            return known
        names = self._changed.update_columns if self._changes is None else None
        return self._scan.marked_rows(number, self._changed.marks[number], names)

    def _updated(self, number: int, add: Add, first: int, rows: pa.Table) -> Iterator[_Written]:
        is_deleted = pa.repeat(pa.scalar(True), rows.num_rows)
        for new in self._changed.updates(number, first, rows):
            old = rows if new.places is None else rows.take(new.places)
            prepared = self._prepared(new.table, is_update=True)
            changes = [(old, "update_preimage"), (prepared, "update_postimage")]
            yield _Written(self._with_ids(prepared, old, add), self._typed(changes))
            is_deleted = _without(is_deleted, new.places)
        if self._changes is not None and pc.any(is_deleted, min_count=0).as_py():
            yield _Written(None, self._typed([(rows.filter(is_deleted), "delete")]))

    def _kept_rows(self, add: Add) -> Iterator[_Written]:
        for rows in self._scan.whole_rows(add):
            filled = with_row_ids(rows, rows.column(POSITION), add, self._scan.ids)
            kept = cast_table(filled, self._schema)
            yield _Written(self._with_columns(kept, [filled[each.name] for each in self._scan.ids]))

    # --- rows to insert ---

    def _insert(self) -> StructType:
        """They draw values of identity columns one after the other; the schema knows the last."""
        schema = self._schema
        for new in self._changed.inserts:
            prepared = prepare_rows(new.table, schema, self._wanted.layout.properties)
            schema = prepared.schema
            nulls = [pa.nulls(new.table.num_rows, pa.int64()) for _ in self._scan.ids]
            rows = self._with_columns(prepared.table, nulls)
            self._take(_Written(rows, self._typed([(prepared.table, "insert")])))
        return schema

    def _drawn(self) -> set[str]:
        return {
            name
            for new in self._changed.inserts
            for name in generated_identity_columns(_given(self._schema, new), self._schema)
        }

    # --- as files have them ---

    def _prepared(self, rows: pa.Table, *, is_update: bool) -> pa.Table:
        properties = self._wanted.layout.properties
        return prepare_rows(rows, self._schema, properties, keeps_identity=is_update).table

    def _with_ids(self, rows: pa.Table, old: pa.Table, add: Add) -> pa.Table:
        """An updated row keeps its id; the version that changed it is that of the commit."""
        ids = self._scan.ids
        if not ids:
            return rows
        of_file, _ = ids_of_file(old.column(POSITION), add)
        number = pc.coalesce(old.column(ids[0].name), of_file)
        return self._with_columns(rows, [number, pa.nulls(rows.num_rows, pa.int64())])

    def _with_columns(self, rows: pa.Table, ids: Sequence[pa.Array]) -> pa.Table:
        for each, values in zip(self._scan.ids, ids, strict=True):
            rows = rows.append_column(each.name, values)
        return rows

    def _typed(self, changes: Sequence[tuple[pa.Table, str]]) -> list[pa.Table]:
        if self._changes is None:
            return []
        return [
            cast_table(rows, self._schema).append_column(
                CHANGE_TYPE, pa.repeat(pa.scalar(kind), rows.num_rows)
            )
            for rows, kind in changes
        ]


def _given(schema: StructType, new: NewRows) -> StructType:
    return StructType(tuple(schema.field(name) for name in new.table.column_names))


def _without(mask: pa.Array, places: pa.Array | None) -> pa.Array:
    if places is None:
        return pa.repeat(pa.scalar(False), len(mask))
    return pc.and_(mask, RowIndexSet.from_indexes(places).keep_mask(len(mask)))


_DECODED = 4
"""How many times the bytes of a file its rows may take in memory."""
_LEAST_SHARE = 0.05
"""Row groups are read as a whole, though few of their rows are wanted."""
