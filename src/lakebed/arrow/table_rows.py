"""The rows of a write that are at hand as an Arrow table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import pyarrow as pa

from lakebed.arrow.rows import prepare_rows, require
from lakebed.arrow.scan import plan_scan, read_batches
from lakebed.arrow.write import FileLayout, Written, write_files
from lakebed.expressions import Coalesce, Literal, Not, parse_predicate
from lakebed.formats.arrow_types import from_arrow_schema
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Add
from lakebed.spec.schema import BOOLEAN, StructType
from lakebed.storage.store import Store


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

    def write(self, layout: FileLayout, rule: str | None = None) -> Written:
        """Makes the rows fit the table and writes them. `rule` must be true for each of them."""
        rows = prepare_rows(self.table, layout.schema, layout.properties)
        if rule is not None:
            require(rule, rows.table, layout.schema, f"condition {rule}")
        adds = self._write(layout, rows.table)
        return Written(adds, rows.schema, rows.table.num_rows)

    def keep(
        self, snapshot: Snapshot, files: pa.Table, where: str, layout: FileLayout
    ) -> list[Add]:
        """Writes again the rows of some files for which a predicate is not true."""
        matches = parse_predicate(where, snapshot.schema)
        others = Not(Coalesce((matches, Literal(False, BOOLEAN)), BOOLEAN))
        plan = replace(plan_scan(snapshot, None, others), files=files)
        kept = pa.Table.from_batches(read_batches(plan), schema=plan.schema)
        return self._write(layout, kept)

    def _write(self, layout: FileLayout, table: pa.Table) -> list[Add]:
        if not table.num_rows:
            return []
        return write_files(self.store, layout, table, max_rows_per_file=self.max_rows_per_file)
