"""A table in a session of Spark, whose rows commands change (see `rows.change_target`)."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column

from lakebed.commands.merge.merge_frames import FrameMerge
from lakebed.commands.merge.merge_request import MergeRequest
from lakebed.commands.optimize.auto_compaction import auto_compact
from lakebed.commands.rows.change_target import Attempt, repeated
from lakebed.commands.rows.row_condition import RowCondition, described_on_spark
from lakebed.commands.target.row_target import RowTarget
from lakebed.log.snapshot import Snapshot
from lakebed.spark.internals.call_sites import without_call_sites
from lakebed.spark.session.session_settings import all_settings, reset_txn_version


@dataclass(frozen=True)
class FrameTarget(RowTarget):
    """Rows are found and written by Spark."""

    @without_call_sites()
    def change(self, attempt: Attempt) -> dict[str, int]:
        """Then what Spark has cached of the table is forgotten, and small files are compacted."""

        def attempted(snapshot: Snapshot) -> dict[str, int]:
            metrics = attempt(snapshot)
            self.plane.recache()
            return metrics

        txn = self.txn
        metrics = repeated(self.log.snapshot, attempted, txn)
        if txn is not None:
            reset_txn_version(self.session, all_settings(self.session))
        auto_compact(self)
        return metrics

    def condition(
        self,
        snapshot: Snapshot,
        condition: str | Column | None,
        command: str,
        said: Column | None = None,
    ) -> RowCondition:
        return RowCondition(self, snapshot, condition, command, said)

    def described(self, condition: str | Column | None) -> list[str]:
        return described_on_spark(self.session, condition)

    def merging(self, request: MergeRequest) -> FrameMerge:
        return FrameMerge(self, request)
