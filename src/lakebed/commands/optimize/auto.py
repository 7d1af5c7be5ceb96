"""Auto compaction: after a write, partitions with many small files are put in order.

By `delta.autoOptimize.autoCompact` or the setting of delta-spark. The write is committed by then:
whatever goes wrong here is logged, and the next write tries again.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

import pyarrow.compute as pc

from lakebed.commands.optimize.bins import Sizes
from lakebed.commands.optimize.optimize import optimize
from lakebed.commands.optimize.request import OptimizeRequest, number
from lakebed.commands.row_target import RowTarget
from lakebed.log.snapshot import Snapshot
from lakebed.spark.session_settings import all_settings

_DELTA = "spark.databricks.delta.autoCompact."
ENABLED = f"{_DELTA}enabled"
MIN_FILES = f"{_DELTA}minNumFiles"
MAX_FILE_SIZE = f"{_DELTA}maxFileSize"
MIN_FILE_SIZE = f"{_DELTA}minFileSize"
_log = logging.getLogger(__name__)


def auto_compact(target: RowTarget, known: Snapshot | None = None) -> None:
    """Compacts if the table or the session asks for it and there is enough to do.

    `known` is the version after the write, if somebody has it.
    """
    try:
        _compact(target, known)
    except Exception as error:  # noqa: BLE001 - the write is committed, whatever happens now
        _log.warning("auto compaction of %s failed: %s", target.log.store.url, error)


def _compact(target: RowTarget, known: Snapshot | None) -> None:
    asked = target.session.conf.get(ENABLED, None)
    if asked is not None and asked.lower() != "true":
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
    most = number(settings, MAX_FILE_SIZE, 128 << 20)
    least = number(settings, MIN_FILE_SIZE, most // 2)
    return OptimizeRequest(
        is_auto=True, sizes=Sizes(least, most), min_files=number(settings, MIN_FILES, 50)
    )


def _num_small(snapshot: Snapshot, least: int) -> int:
    sizes = snapshot.files(["size"]).column("size")
    return int(pc.sum(pc.less(sizes, least)).as_py() or 0)
