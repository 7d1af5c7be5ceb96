"""Writing a DataFrame of Spark to a table, with what the session says about writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from pyspark.sql import DataFrame

from lakebed.commands.optimize.auto_compaction import auto_compact
from lakebed.commands.optimize.clustered_writes import ClusteredWrites
from lakebed.commands.rows.row_condition import check_condition
from lakebed.commands.rows.row_positions import IN_SCAN_ORDER, RowPositions
from lakebed.commands.rows.row_scan import ROW_ID, ROW_VERSION, RowScan
from lakebed.commands.target.row_target import RowTarget
from lakebed.commands.target.write_options import WriteOptions
from lakebed.commands.write.write_rows import write_table
from lakebed.data_files.file_rewrites import Rewrite, Rewritten, change_actions
from lakebed.errors import JobFailedError
from lakebed.log.change_feed.change_files import CHANGE_TYPE, DELETE, INSERT
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.settings.setting_table import COLLECT_STATS, COMPRESSION
from lakebed.spark.columns.projection import quote
from lakebed.spark.columns.sql_expressions import sql_column
from lakebed.spark.internals.call_sites import without_call_sites
from lakebed.spark.plane.plane import FileSettings
from lakebed.spark.plane_selection import plane_for
from lakebed.spark.session.session_kind import functions_of
from lakebed.spark.stores.location import open_location
from lakebed.spark.write.frame_rows import FrameRows
from lakebed.spark.write.rows import conform
from lakebed.spec.actions import Add, AddCdc
from lakebed.spec.paths import CHANGE_DATA_DIRECTORY
from lakebed.transaction.row_tracking import physical_records

Matching = Callable[[DataFrame], DataFrame]
"""Selects the rows of a scan that an overwrite replaces."""


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
    """See `WriteOptions.replace_matching`."""


@without_call_sites()
def write_frame(
    write: FrameWrite, settings: Mapping[str, str], known: Snapshot | None = None
) -> Snapshot:
    """`settings` are those of the session. `known` saves opening a table that is open already."""
    session = write.frame.sparkSession
    store, root = open_location(session, write.location, write.store)
    plane, log = plane_for(session, store, root, write.store), TableLog(store)
    rows = _rows_class(write)(
        write.frame,
        plane,
        store,
        write.files,
        write.optimize,
        COLLECT_STATS.read(settings),
        COMPRESSION.read(settings),
        ClusteredWrites(log, plane, settings, write.options.cluster_by).arranged,
    )
    written = write_table(log, rows, write.options, known)
    auto_compact(RowTarget(session, log, plane), written)
    plane.recache()
    return written


def _rows_class(write: FrameWrite) -> Callable[..., FrameRows]:
    """Only an overwrite can replace rows."""
    if write.options.mode == "overwrite":
        return partial(OverwriteFrameRows, matching=write.matching)
    return FrameRows


@dataclass(frozen=True)
class OverwriteFrameRows(FrameRows):
    """The twin of `arrow.rewrite`, with scans and writes of Spark.

    `matching` selects the rows of a scan that are replaced, instead of a condition.
    """

    matching: Matching | None = None

    def rewrite(self, wanted: Rewrite) -> Rewritten:
        """Finds the rows that go, and writes those that stay where that is needed."""
        scan = RowScan(wanted.snapshot, self.plane, wanted.adds)
        matching = (
            scan.frame().where(sql_column(self.frame, wanted.where))
            if self.matching is None
            else self.matching(scan.frame())
        )
        check_condition(matching, "replaceWhere")
        marks = RowPositions(scan, IN_SCAN_ORDER).find(matching).rows
        scan = scan.counted(marks)
        found = [(scan.adds[number], rows) for number, rows in marks.items()]
        kept = None if wanted.marks_only or not marks else scan.kept(marks)
        if kept is None:
            return Rewritten(found)
        adds = self._copied(kept, scan, wanted)
        _check_count(adds, scan.num_kept(marks))
        if not wanted.feed:
            return Rewritten(found, adds)
        count = sum(rows.cardinality for rows in marks.values())
        return Rewritten(found, adds, self._changes(matching, wanted, count))

    def _copied(self, kept: DataFrame, scan: RowScan, wanted: Rewrite) -> list[Add]:
        layout = wanted.layout
        frame = conform(kept, wanted.snapshot.schema, layout.schema, scan.row_columns)
        if scan.materialized is not None:
            row_id, version = scan.materialized
            frame = frame.withColumnsRenamed({ROW_ID: row_id.name, ROW_VERSION: version.name})
            layout = layout.with_columns(scan.materialized)
        return self.plane.write_files(frame, layout, self._settings(layout))

    def _changes(self, matching: DataFrame, wanted: Rewrite, count: int) -> list[AddCdc]:
        """Rows that went, and the new ones as they are in their files."""
        gone = conform(matching, wanted.snapshot.schema, wanted.layout.schema)
        f = functions_of(gone)
        changes = gone.withColumn(CHANGE_TYPE.name, f.lit(DELETE))
        if wanted.new:
            columns = [f.col(quote(name)) for name in wanted.layout.schema.names]
            new = self.plane.scan_synthetic(wanted.new_rows).select(*columns)
            changes = changes.unionAll(new.withColumn(CHANGE_TYPE.name, f.lit(INSERT)))
        settings = self._settings(wanted.layout, CHANGE_DATA_DIRECTORY)
        files = self.plane.write_files(changes, wanted.change_layout, settings)
        _check_count(files, count + sum(physical_records(add) or 0 for add in wanted.new))
        return change_actions(files)


def _check_count(files: Sequence[Add], expected: int) -> None:
    written = sum(physical_records(add) or 0 for add in files)
    if written != expected:
        raise JobFailedError(
            f"{expected} rows were to be written, but {written} were: a second look at the rows "
            "found others than the first, so nothing was committed",
            hint="leave functions out of replaceWhere that give another result each time",
        )
