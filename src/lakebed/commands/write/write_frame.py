"""Writing a DataFrame of Spark to a table, with what the session says about writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame

from lakebed.commands.optimize.auto_compaction import auto_compact
from lakebed.commands.optimize.clustered_writes import ClusteredWrites
from lakebed.commands.target.row_target import RowTarget
from lakebed.commands.target.write_options import WriteOptions
from lakebed.commands.write.replace_frame import Matching, ReplacingRows
from lakebed.commands.write.write_rows import write_table
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.settings.setting_table import COLLECT_STATS, COMPRESSION
from lakebed.spark.internals.call_sites import without_call_sites
from lakebed.spark.plane.plane import FileSettings
from lakebed.spark.planes import plane_for
from lakebed.spark.stores.location import open_location


@dataclass(frozen=True)
class FrameWrite:
    """`store` says how to reach the store. `optimize` None: the table decides."""

    frame: DataFrame
    location: str
    options: WriteOptions
    files: FileSettings = field(default_factory=FileSettings)
    optimize: bool | None = None
    store: Mapping[str, str] = field(default_factory=dict)
    matching: Matching | None = None
    """Chooses the rows that an overwrite replaces (`WriteOptions.replace_matching`)."""


@without_call_sites()
def write_frame(
    write: FrameWrite, settings: Mapping[str, str], known: Snapshot | None = None
) -> Snapshot:
    """`settings` are those of the session. `known` saves opening a table that is open already."""
    session = write.frame.sparkSession
    store, root = open_location(session, write.location, write.store)
    plane, log = plane_for(session, store, root, write.store), TableLog(store)
    rows = ReplacingRows(
        write.frame,
        plane,
        store,
        write.files,
        write.optimize,
        COLLECT_STATS.read(settings),
        COMPRESSION.read(settings),
        ClusteredWrites(log, plane, settings, write.options.cluster_by).arranged,
        write.matching,
    )
    written = write_table(log, rows, write.options, known)
    auto_compact(RowTarget(session, log, plane), written)
    plane.recache()
    return written
