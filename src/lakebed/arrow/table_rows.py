"""The rows of a write that are in an Arrow table, and removing the rows that they replace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lakebed.arrow.row_ids import row_id_columns, with_row_ids
from lakebed.arrow.scan import ScanPlan, plan_scan, read_batches, read_file
from lakebed.arrow.write.rows import prepare_rows, require
from lakebed.arrow.write.write import write_files
from lakebed.data_files.file_layout import FileLayout, WrittenFiles
from lakebed.data_files.file_rewrites import Rewrite, Rewritten, change_actions
from lakebed.expressions import Expression, evaluate, parse_predicate
from lakebed.formats.arrow_cast import cast_table
from lakebed.formats.arrow_types import from_arrow_schema
from lakebed.formats.deletion_vectors import RowIndexSet
from lakebed.log.change_feed.change_files import CHANGE_TYPE, DELETE, INSERT
from lakebed.log.synthetic_snapshot import synthetic_snapshot
from lakebed.spec.actions import Add, AddCdc
from lakebed.spec.paths import CHANGE_DATA_DIRECTORY
from lakebed.spec.schema import StructField, StructType
from lakebed.spec.stats import NUM_RECORDS
from lakebed.storage.store import Store
from lakebed.transaction import Transaction
from lakebed.transaction.row_tracking import physical_records


@dataclass(frozen=True)
class TableRows:
    """Rows in memory, and the store of the table that they go to."""

    store: Store
    table: pa.Table
    max_rows_per_file: int | None = None
    spark_zone: ClassVar[str | None] = None

    @cached_property
    def schema(self) -> StructType:
        return from_arrow_schema(self.table.schema)

    def pinned(self, transaction: Transaction) -> TableRows:  # noqa: ARG002 - rows of no table
        return self

    def write(self, layout: FileLayout, rule: str | None = None) -> WrittenFiles:
        """Makes the rows fit the table and writes them. `rule` must be true for each of them."""
        rows = prepare_rows(self.table, layout.schema, layout.properties)
        if rule is not None:
            require(rule, rows.table, layout.schema, f"condition {rule}")
        adds = self._write(layout, rows.table)
        return WrittenFiles(adds, rows.schema, rows.table.num_rows)

    def rewrite(self, wanted: Rewrite) -> Rewritten:
        """Finds the rows to remove, and writes those that stay where that is needed."""
        matches = parse_predicate(wanted.where, wanted.snapshot.schema)
        return _Rewriter(wanted, matches, self.max_rows_per_file).run()

    def _write(self, layout: FileLayout, table: pa.Table) -> list[Add]:
        if not table.num_rows:
            return []
        return write_files(self.store, layout, table, max_rows_per_file=self.max_rows_per_file)


@dataclass
class _Rewriter:
    """Removes rows from files, one file after the other (see `data_files.file_rewrites`)."""

    wanted: Rewrite
    matches: Expression
    max_rows_per_file: int | None
    marks: list[tuple[Add, RowIndexSet]] = field(default_factory=list)
    kept: list[pa.Table] = field(default_factory=list)
    removed: list[pa.Table] = field(default_factory=list)

    def run(self) -> Rewritten:
        wanted, snapshot = self.wanted, self.wanted.snapshot
        ids = row_id_columns(snapshot)
        files = synthetic_snapshot(
            snapshot.store, snapshot.protocol, snapshot.metadata, wanted.adds, columns=ids
        )
        plan = plan_scan(files, position=_POSITION)
        known = {add.path: add for add in wanted.adds}
        for row in plan.files.to_pylist():
            self._split(plan, row, known[row["path"]], ids)
        if wanted.marks_only or not self.kept:
            return Rewritten(self.marks)
        layout = wanted.layout.with_columns(ids)
        adds = self._written(pa.concat_tables(self.kept), layout)
        return Rewritten(self.marks, adds, self._changes() if wanted.feed else ())

    def _split(
        self, plan: ScanPlan, row: dict[str, object], add: Add, ids: Sequence[StructField]
    ) -> None:
        rows = read_file(plan, row)
        is_removed = pc.fill_null(evaluate(self.matches, rows), False)
        removed = rows.filter(is_removed)
        if not removed.num_rows:
            return
        marked = RowIndexSet.from_indexes(removed.column(_POSITION))
        self.marks.append((_counted(plan.table.store, add), marked))
        if self.wanted.marks_only:
            return
        self.removed.append(removed)
        kept = rows.filter(pc.invert(is_removed))
        if kept.num_rows:
            self.kept.append(with_row_ids(kept, kept.column(_POSITION), add, ids))

    def _changes(self) -> list[AddCdc]:
        wanted = self.wanted
        schema = wanted.layout.schema
        removed = cast_table(pa.concat_tables(self.removed), schema)
        pieces = [_typed(removed, DELETE)]
        if wanted.new:
            plan = plan_scan(wanted.new_rows)
            new = pa.Table.from_batches(read_batches(plan), schema=plan.schema)
            pieces.append(_typed(cast_table(new, schema), INSERT))
        files = self._written(pa.concat_tables(pieces), wanted.change_layout, CHANGE_DATA_DIRECTORY)
        return change_actions(files)

    def _written(self, table: pa.Table, layout: FileLayout, folder: str | None = None) -> list[Add]:
        store = self.wanted.snapshot.store
        most = self.max_rows_per_file
        rows = cast_table(table, layout.schema)
        return write_files(store, layout, rows, max_rows_per_file=most, folder=folder)


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
