"""A table without Spark, whose rows commands change (see `rows.change_target`)."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import ClassVar

from lakebed.commands.merge.arrow.merge_tables import TableMerge
from lakebed.commands.merge.merge_request import MergeRequest
from lakebed.commands.rows.arrow.row_condition import RowCondition
from lakebed.commands.rows.change_target import Attempt, described, repeated
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.settings.setting_table import CHANGE_MEMORY


def _most_bytes() -> int:
    return CHANGE_MEMORY.read_environment(os.environ)


@dataclass(frozen=True)
class TableTarget:
    """Rows are found and written by Arrow. `known` is a version that is open already."""

    log: TableLog
    known: Snapshot
    alias: str | None = None
    row_level: bool = True
    user_metadata: str | None = None
    most_bytes: int = field(default_factory=_most_bytes)
    """About how much of rows may be in memory, beside the source of a MERGE."""
    merges_schemas: ClassVar[bool] = False
    txn: ClassVar[None] = None

    def change(self, attempt: Attempt) -> dict[str, int]:
        return repeated(lambda: self.log.newer(self.known), attempt)

    def condition(
        self, snapshot: Snapshot, condition: str | None, command: str, said: str | None = None
    ) -> RowCondition:
        return RowCondition(snapshot, condition, command, self.most_bytes, said)

    def described(self, condition: str | None) -> list[str]:
        return described(condition)

    def merging(self, request: MergeRequest) -> TableMerge:
        return TableMerge(request, self.most_bytes)
