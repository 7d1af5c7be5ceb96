"""Auto compaction: after a write, partitions with many small files are put in order.

By `delta.autoOptimize.autoCompact` or the setting of delta-spark. The write is committed by then:
whatever goes wrong here is logged, and the next write tries again.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

import pyarrow.compute as pc

from lakebed.commands.optimize.optimize import optimize
from lakebed.commands.optimize.optimize_request import OptimizeRequest, Sizes
from lakebed.commands.target.row_target import RowTarget
from lakebed.log.snapshot import Snapshot
from lakebed.settings.setting_table import (
    AUTO_COMPACT,
    AUTO_COMPACT_MAX_FILE_SIZE,
    AUTO_COMPACT_MIN_FILE_SIZE,
    AUTO_COMPACT_MIN_FILES,
)
from lakebed.spark.session.session_settings import all_settings

_log = logging.getLogger(__name__)


def auto_compact(target: RowTarget, known: Snapshot | None = None) -> None:
    """Compacts if the table or the session asks for it and there is enough to do.

    `known` is the version after the write, if the caller has it.
    """
    try:
        _compact(target, known)
    except Exception as error:  # noqa: BLE001 - the write is committed, whatever happens now
        _log.warning("auto compaction of %s failed: %s", target.log.store.url, error)


def _compact(target: RowTarget, known: Snapshot | None) -> None:
    asked = AUTO_COMPACT.of(target.session)
    if asked is False:
        return
    snapshot = known or target.log.snapshot()
    if asked is None and not _is_wanted(snapshot):
        return
    request = _request(all_settings(target.session))
    if _num_small(snapshot, request.sizes.min_file) >= request.min_files:
        optimize(target, request)


def _is_wanted(snapshot: Snapshot) -> bool:
    properties = snapshot.properties
    chosen = properties.auto_compact
    return bool(properties.auto_optimize) if chosen is None else chosen


def _request(settings: Mapping[str, str]) -> OptimizeRequest:
    most = AUTO_COMPACT_MAX_FILE_SIZE.read(settings)
    least = AUTO_COMPACT_MIN_FILE_SIZE.read(settings) or most // 2
    return OptimizeRequest(
        is_auto=True,
        sizes=Sizes(least, most),
        min_files=AUTO_COMPACT_MIN_FILES.read(settings),
    )


def _num_small(snapshot: Snapshot, least: int) -> int:
    sizes = snapshot.files(["size"]).column("size")
    return int(pc.sum(pc.less(sizes, least)).as_py() or 0)
