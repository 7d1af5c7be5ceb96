"""Removing rows from files on Arrow, one file after the other (see `data_files.file_rewrites`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lakebed.arrow.row_ids import row_id_columns, with_row_ids
from lakebed.arrow.scan import ScanPlan, plan_scan, read_batches, read_file
from lakebed.arrow.write.write import write_files
from lakebed.data_files.file_layout import FileLayout
from lakebed.data_files.file_rewrites import Rewrite, Rewritten, change_actions
from lakebed.expressions import Expression, evaluate
from lakebed.formats.arrow_cast import cast_table
from lakebed.formats.deletion_vectors import RowIndexSet
from lakebed.log.change_feed.change_files import CHANGE_TYPE, DELETE, INSERT
from lakebed.log.synthetic_snapshot import synthetic_snapshot
from lakebed.spec.actions import Add, AddCdc
from lakebed.spec.paths import CHANGE_DATA_DIRECTORY
from lakebed.spec.schema import StructField
from lakebed.spec.stats import NUM_RECORDS
from lakebed.storage.store import Store
from lakebed.transaction.row_tracking import physical_records


def rewrite(wanted: Rewrite, matches: Expression, max_rows_per_file: int | None) -> Rewritten:
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
        made = synthetic_snapshot(
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
