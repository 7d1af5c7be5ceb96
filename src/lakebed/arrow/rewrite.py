"""Rows of some files that go, and what becomes of the others: what both data planes are asked.

With deletion vectors nothing is written: the rows that go are marked. Else the rows that stay are
written again, with their row ids (PROTOCOL: Row Tracking). As then new files have rows that are not
new, readers of the change feed need files of their own (PROTOCOL: Add CDC File).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lakebed.arrow.row_ids import row_id_columns, with_row_ids
from lakebed.arrow.scan import ScanPlan, plan_scan, read_batches, read_file
from lakebed.arrow.write.write import FileLayout, write_files
from lakebed.expressions import Expression, evaluate
from lakebed.formats.arrow_types import cast_table
from lakebed.formats.deletion_vectors import RowIndexSet
from lakebed.log.change_feed.change_files import CHANGE_TYPE, DELETE, INSERT
from lakebed.log.snapshot import Snapshot
from lakebed.log.synthetic_snapshot import made_snapshot, mapped_field
from lakebed.spec.actions import Add, AddCdc, Metadata, Protocol
from lakebed.spec.paths import CHANGE_DATA_DIRECTORY
from lakebed.spec.schema import StructField
from lakebed.spec.stats import NUM_RECORDS
from lakebed.storage.store import Store
from lakebed.transaction.row_tracking import physical_records


@dataclass(frozen=True)
class Rewrite:
    """Rows of `adds` for which a SQL condition is true go; those of `new` files come.

    `metadata`, `protocol` and `layout` are those of the table after it.
    """

    snapshot: Snapshot
    adds: Sequence[Add]
    where: str
    new: Sequence[Add]
    metadata: Metadata
    protocol: Protocol
    layout: FileLayout
    marks_only: bool
    """Whether deletion vectors will mark the rows that go."""
    feed: bool
    """Whether changes get files of their own where they need them."""

    @property
    def new_rows(self) -> Snapshot:
        """The new files as a table."""
        return made_snapshot(self.snapshot.store, self.protocol, self.metadata, self.new)

    @property
    def change_layout(self) -> FileLayout:
        kind = mapped_field(CHANGE_TYPE, _CHANGE_NUMBER, self.layout.mode)
        return self.layout.with_columns([kind])


@dataclass(frozen=True)
class Rewritten:
    """`marks` are the files with rows that go, and which rows; each file says how many it has.

    `adds` have the rows of these files that stay.
    """

    marks: Sequence[tuple[Add, RowIndexSet]] = ()
    adds: Sequence[Add] = ()
    changes: Sequence[AddCdc] = ()

    @property
    def num_deleted(self) -> int:
        return sum(rows.cardinality for _, rows in self.marks)

    @property
    def num_copied(self) -> int:
        return sum(physical_records(add) or 0 for add in self.adds)


def num_left(add: Add, marked: RowIndexSet) -> int:
    """How many rows of a file are neither marked nor deleted already."""
    total = physical_records(add)
    assert total is not None
    gone = 0 if add.deletion_vector is None else add.deletion_vector.cardinality
    return total - gone - marked.cardinality


def change_actions(files: Sequence[Add]) -> list[AddCdc]:
    return [AddCdc(add.path, add.partition_values, add.size) for add in files]


def rewrite(wanted: Rewrite, matches: Expression, max_rows_per_file: int | None) -> Rewritten:
    """On Arrow, file after file."""
    return _ArrowRewrite(wanted, matches, max_rows_per_file).run()


@dataclass
class _ArrowRewrite:
    wanted: Rewrite
    matches: Expression
    max_rows_per_file: int | None
    marks: list[tuple[Add, RowIndexSet]] = field(default_factory=list)
    kept: list[pa.Table] = field(default_factory=list)
    gone: list[pa.Table] = field(default_factory=list)

    def run(self) -> Rewritten:
        wanted, snapshot = self.wanted, self.wanted.snapshot
        ids = row_id_columns(snapshot)
        made = made_snapshot(
            snapshot.store, snapshot.protocol, snapshot.metadata, wanted.adds, columns=ids
        )
        plan = plan_scan(made, position=_POSITION)
        known = {add.path: add for add in wanted.adds}
        for row in plan.files.to_pylist():
            self._look(plan, row, known[row["path"]], ids)
        if wanted.marks_only or not self.kept:
            return Rewritten(self.marks)
        layout = wanted.layout.with_columns(ids)
        adds = self._written(pa.concat_tables(self.kept), layout)
        return Rewritten(self.marks, adds, self._changes() if wanted.feed else ())

    def _look(
        self, plan: ScanPlan, row: dict[str, object], add: Add, ids: Sequence[StructField]
    ) -> None:
        rows = read_file(plan, row)
        is_gone = pc.fill_null(evaluate(self.matches, rows), False)
        gone = rows.filter(is_gone)
        if not gone.num_rows:
            return
        marked = RowIndexSet.from_indexes(gone.column(_POSITION))
        self.marks.append((_counted(plan.table.store, add), marked))
        if self.wanted.marks_only:
            return
        self.gone.append(gone)
        kept = rows.filter(pc.invert(is_gone))
        if kept.num_rows:
            self.kept.append(with_row_ids(kept, kept.column(_POSITION), add, ids))

    def _changes(self) -> list[AddCdc]:
        wanted = self.wanted
        schema = wanted.layout.schema
        gone = cast_table(pa.concat_tables(self.gone), schema)
        pieces = [_typed(gone, DELETE)]
        if wanted.new:
            plan = plan_scan(wanted.new_rows)
            new = pa.Table.from_batches(read_batches(plan), schema=plan.schema)
            pieces.append(_typed(cast_table(new, schema), INSERT))
        files = self._written(pa.concat_tables(pieces), wanted.change_layout, CHANGE_DATA_DIRECTORY)
        return change_actions(files)

    def _written(self, table: pa.Table, layout: FileLayout, folder: str | None = None) -> list[Add]:
        store = self.wanted.snapshot.store
        most = self.max_rows_per_file
        fitting = cast_table(table, layout.schema)
        return write_files(store, layout, fitting, max_rows_per_file=most, folder=folder)


def _typed(rows: pa.Table, change: str) -> pa.Table:
    return rows.append_column(CHANGE_TYPE.name, pa.repeat(pa.scalar(change), rows.num_rows))


def _counted(store: Store, add: Add) -> Add:
    """With the number of rows, from the file if the log does not have it."""
    if physical_records(add) is not None:
        return add
    home, path = store.resolve(add.path)
    count = pq.read_metadata(home.open_input(path)).num_rows
    stats = {**orjson.loads(add.stats or "{}"), NUM_RECORDS: count}
    return replace(add, stats=orjson.dumps(stats).decode())


_POSITION = "__lakebed_row"
_CHANGE_NUMBER = 10
