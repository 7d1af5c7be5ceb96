"""GENERATE: files beside a table for engines that cannot read its log."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lakebed.errors import InvalidArgumentError
from lakebed.iceberg import publish
from lakebed.log.maintenance.symlink_manifests import write_manifests
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog

_MODES: Mapping[str, Callable[[Snapshot], None]] = {
    "symlink_format_manifest": write_manifests,
    "iceberg": publish,
}


def generate_files(log: TableLog, mode: str) -> None:
    """Of the newest version. The names of modes are delta-spark's, in any case."""
    chosen = _MODES.get(mode.lower()) if isinstance(mode, str) else None
    if chosen is None:
        raise InvalidArgumentError(
            f"nothing can be generated in the mode {mode!r}",
            hint=f"the modes are: {', '.join(_MODES)}",
        )
    chosen(log.snapshot())
