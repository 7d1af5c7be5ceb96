"""OPTIMIZE in a session of Spark: rows are written again by this process or by Spark."""

from __future__ import annotations

from collections.abc import Sequence

from lakebed.commands.optimize.batch_rewrite import Rewriter
from lakebed.commands.optimize.file_selection import Bin
from lakebed.commands.optimize.optimize_request import OptimizeRequest
from lakebed.commands.optimize.optimize_run import Optimized, OptimizeRun
from lakebed.commands.target.row_target import RowTarget
from lakebed.data_files.curves import Kind
from lakebed.log.snapshot import Snapshot
from lakebed.spark.session.session_settings import all_settings
from lakebed.spec.actions import Add


def optimize(target: RowTarget, request: OptimizeRequest) -> Optimized:
    """Rewrites what is worth it. A table that is in order is left alone, without a commit."""
    return _Optimize(target, request).run()


class _Optimize(OptimizeRun):
    def __init__(self, target: RowTarget, request: OptimizeRequest) -> None:
        super().__init__(target.log, request, all_settings(target.session), target.user_metadata)
        self._target = target

    def _rewritten(self, snapshot: Snapshot, batch: Sequence[Bin], kind: Kind) -> list[Add]:
        rewriter = Rewriter(self._target, self._request, self._settings, self._columns, kind)
        return rewriter.write(snapshot, batch, self._share.done)
