"""OPTIMIZE without Spark: rows are written again by this process."""

from __future__ import annotations

from collections.abc import Sequence

from lakebed.arrow.in_order import CORES
from lakebed.commands.optimize.file_selection import Bin
from lakebed.commands.optimize.local_rewrite import Local
from lakebed.commands.optimize.optimize_request import OptimizeRequest, Sizes
from lakebed.commands.optimize.optimize_run import Optimized, OptimizeRun
from lakebed.data_files.curves import Kind
from lakebed.errors import UnsupportedFeatureError
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.settings.setting_table import CHANGE_MEMORY
from lakebed.spec.actions import Add


def optimize_table(
    log: TableLog, request: OptimizeRequest, most_bytes: int, user_metadata: str | None = None
) -> Optimized:
    """As `optimize`, with at most about so many bytes of files and rows in memory."""
    return _Optimize(log, request, most_bytes, user_metadata).run()


def sizes_within(most_bytes: int) -> Sizes:
    """New files are in memory until they are stored, one on each processor."""
    usual = Sizes()
    most = min(usual.max_file, most_bytes // (2 * CORES))
    return Sizes(most, most, usual.max_deleted)


class _Optimize(OptimizeRun):
    def __init__(
        self, log: TableLog, request: OptimizeRequest, most_bytes: int, user_metadata: str | None
    ) -> None:
        super().__init__(log, request, {}, user_metadata)
        self._most_bytes = most_bytes

    def _rewritten(self, snapshot: Snapshot, batch: Sequence[Bin], kind: Kind) -> list[Add]:
        size = sum(add.size for one in batch for add in one.adds)
        if not self._is_arranged:
            # However many files there are, only some row groups of them are read at a time.
            found = self._local(snapshot, size).compact(batch)
            return self._done_by(found, size)
        added = []
        for one in batch:
            local = self._local(snapshot, self._most_bytes // _DECODED)
            added += self._done_by(local.arrange([one], self._columns, kind), one.size)
        return added

    def _local(self, snapshot: Snapshot, most_bytes: int) -> Local:
        return Local(snapshot, self._request.sizes.max_file, most_bytes, {}, self._share.done)

    def _done_by(self, found: list[Add] | None, num_bytes: int) -> list[Add]:
        if found is None:
            raise UnsupportedFeatureError(
                f"{num_bytes} bytes of files cannot be put in order without Spark",
                hint="to arrange rows all of a partition are in memory, and numpy is needed: give "
                f"it more with {CHANGE_MEMORY.environment}, install numpy, or use Spark",
            )
        return found


_DECODED = 4
"""How many times the bytes of files their rows may take in memory."""
