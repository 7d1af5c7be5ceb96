"""The same rows in other files, without Spark: what some features leave behind is in the files."""

from __future__ import annotations

import time
from collections.abc import Collection

from lakebed.arrow.scan import plan_scan, read_file
from lakebed.arrow.write.write import write_files
from lakebed.data_files.file_layout import FileLayout
from lakebed.errors import UnsupportedFeatureError
from lakebed.formats.file_actions import adds_from_table
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Action, Remove


def rewritten(snapshot: Snapshot, paths: Collection[str], layout: FileLayout) -> tuple[Action, ...]:
    """Writes the live rows of some files anew; the actions that put them in place of the old.

    One file at a time is in memory. Nothing changes for readers until the actions are committed.
    """
    check_rewritable(snapshot, paths)
    actions: list[Action] = []
    now = int(time.time() * 1000)
    for add in adds_from_table(snapshot.files()):
        if add.path in paths:
            actions.append(Remove.of(add, timestamp=now, data_change=False))
    plan = plan_scan(snapshot)
    for row in plan.files.to_pylist():
        if row["path"] in paths:
            table = read_file(plan, row)
            if table.num_rows:
                actions += write_files(snapshot.store, layout, table, data_change=False)
    return tuple(actions)


def check_rewritable(snapshot: Snapshot, paths: Collection[str]) -> None:
    """Refuses where rows have ids, which new files would not have."""
    if snapshot.properties.enable_row_tracking and paths:
        raise UnsupportedFeatureError(
            f"{len(paths)} files would be written anew, and their rows would lose their ids",
            features=["rowTracking"],
            hint="drop the feature rowTracking first, or run REORG ... APPLY (PURGE) on Spark",
        )
