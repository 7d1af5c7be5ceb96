"""The rows of a write that are at hand as an Arrow table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import pyarrow as pa

from lakebed.arrow.rewrite import rewrite
from lakebed.arrow.write.rows import prepare_rows, require
from lakebed.arrow.write.write import write_files
from lakebed.data_files.file_layout import FileLayout, WrittenFiles
from lakebed.data_files.file_rewrites import Rewrite, Rewritten
from lakebed.expressions import parse_predicate
from lakebed.formats.arrow_types import from_arrow_schema
from lakebed.spec.actions import Add
from lakebed.spec.schema import StructType
from lakebed.storage.store import Store
from lakebed.transaction import Transaction


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
        """Finds the rows that go, and writes those that stay where that is needed."""
        matches = parse_predicate(wanted.where, wanted.snapshot.schema)
        return rewrite(wanted, matches, self.max_rows_per_file)

    def _write(self, layout: FileLayout, table: pa.Table) -> list[Add]:
        if not table.num_rows:
            return []
        return write_files(self.store, layout, table, max_rows_per_file=self.max_rows_per_file)
