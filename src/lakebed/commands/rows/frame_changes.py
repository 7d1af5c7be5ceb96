"""Changed rows in DataFrames: what Spark writes of a change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame

from lakebed.commands.rows.changed_files import ChangedFiles
from lakebed.commands.rows.row_change import CHANGE_TYPE, Writing, WrittenRows
from lakebed.commands.rows.row_scan import ROW_ID, ROW_VERSION, RowScan
from lakebed.commands.target.write_target import Target
from lakebed.data_files.file_layout import FileLayout, WrittenFiles
from lakebed.data_files.file_rewrites import change_actions
from lakebed.data_files.identity_high_water_marks import (
    generated_identity_columns,
    with_new_high_water_marks,
)
from lakebed.expressions import Expression
from lakebed.formats.deletion_vectors import RowIndexSet
from lakebed.log.synthetic_snapshot import synthetic_snapshot
from lakebed.spark.columns.projection import quote
from lakebed.spark.plane.plane import FileSettings
from lakebed.spark.plane.position_bitmaps import Positions
from lakebed.spark.session.session_kind import functions_of
from lakebed.spark.write.frame_rows import FrameRows
from lakebed.spark.write.rows import conform, prepare_frame
from lakebed.spec.actions import Add, AddCdc
from lakebed.spec.paths import CHANGE_DATA_DIRECTORY
from lakebed.spec.properties import TableProperties
from lakebed.spec.schema import StructType, parse_schema
from lakebed.transaction.row_tracking import physical_records


@dataclass(frozen=True)
class NewRows:
    """Rows to add. `given` are the columns of the table that the frame has.

    Updated rows keep the values of identity columns and bring their row ids along.
    """

    frame: DataFrame
    given: StructType
    updated: bool = False


@dataclass(frozen=True)
class FrameChanges:
    """`ChangedRows` on Spark.

    `changes` has the columns of the table and `CHANGE_TYPE`; it is read only where it is needed.
    """

    scan: RowScan
    predicate: Expression | None = None
    marks: Mapping[int, RowIndexSet] = field(default_factory=dict)
    new: Sequence[NewRows] = ()
    changes: DataFrame | None = None
    seen: Mapping[int, RowIndexSet] = field(default_factory=dict)
    has_updates: bool = False
    num_new: int | None = None
    tracked: Callable[[], Positions] | None = None
    """Instead of marks: the positions of the updated rows, known once the new ones are written."""
    table: Target | None = None

    @property
    def files(self) -> ChangedFiles:
        return self.scan.files

    def counted(self) -> FrameChanges:
        return replace(self, scan=self.scan.counted(self.marks))

    def write(self, wanted: Writing) -> WrittenRows:
        return _FrameWriter(self, wanted).run()


class _FrameWriter:
    def __init__(self, changed: FrameChanges, wanted: Writing) -> None:
        self._changed = changed
        self._scan = changed.scan
        self._plane = changed.scan.plane
        self._store = changed.scan.snapshot.store
        self._wanted = wanted
        self._layout = wanted.layout

    def run(self) -> WrittenRows:
        kept = self._scan.kept(self._changed.marks) if self._wanted.copies else None
        written, drawn = self._write(kept)
        changes = self._change_files(drawn)
        return WrittenRows(self._with_tracked(), written, changes)

    def _with_tracked(self) -> FrameChanges:
        changed = self._changed
        if changed.tracked is None:
            return changed
        tracked = changed.tracked()
        scan = self._scan.counted(tracked.rows)
        return replace(changed, scan=scan, marks=tracked.rows, num_new=tracked.num_rows)

    # --- rows ---

    def _write(self, kept: DataFrame | None) -> tuple[WrittenFiles, list[Add]]:
        """New rows and those that are copied, in one job if no identity values are drawn.

        The second value are those of the files whose rows drew values of identity columns.
        """
        layout, carried = self._layout, self._scan.row_columns
        frames, drawing = [], []
        columns: set[str] = set()
        for rows in self._changed.new:
            drawn_here = (
                () if rows.updated else generated_identity_columns(rows.given, layout.schema)
            )
            columns.update(drawn_here)
            if drawn_here:
                drawing.append(rows)
            else:
                frames.append(self._prepared(rows, carried))
        if kept is not None:
            frames.append(conform(kept, self._scan.snapshot.schema, layout.schema, carried))
        adds: list[Add] = []
        schema, count = layout.schema, 0
        if frames:
            adds = self._files(_union(frames))
            count = sum(physical_records(add) or 0 for add in adds)
        drawn: list[Add] = []
        for rows in drawing:
            # Values of identity columns go by the number of tasks, so such rows go alone.
            source = rows.frame.select(*[quote(name) for name in rows.given.names])
            new = FrameRows(source, self._plane, self._store).write(replace(layout, schema=schema))
            drawn += new.adds
            schema, count = new.schema, count + new.num_rows
        # As in delta-spark the other rows of a command that draws values move the mark too.
        return WrittenFiles(
            [*adds, *drawn], with_new_high_water_marks(schema, columns, adds), count
        ), drawn

    def _prepared(self, rows: NewRows, carried: Sequence[str]) -> DataFrame:
        frame = rows.frame
        if carried and not rows.updated:
            f = functions_of(frame)
            nulls = {name: f.lit(None).cast("long") for name in carried}
            frame = frame.withColumns(nulls)
        return prepare_frame(
            frame, rows.given, self._layout, keeps_identity=rows.updated, extra_columns=carried
        )

    def _files(self, frame: DataFrame) -> list[Add]:
        layout, materialized = self._layout, self._scan.materialized
        if materialized is not None:
            names = {ROW_ID: materialized[0].name, ROW_VERSION: materialized[1].name}
            frame = frame.withColumnsRenamed(names)
            layout = layout.with_columns(materialized)
        return self._plane.write_files(frame, layout, self._settings(layout))

    def _settings(self, layout: FileLayout, folder: str | None = None) -> FileSettings:
        codec = layout.configuration.get(TableProperties.parquet_compression_codec.key)
        return FileSettings(compression=codec, folder=folder)

    # --- the change feed ---

    def _change_files(self, drawn: Sequence[Add]) -> list[AddCdc]:
        layout = self._wanted.changes
        if layout is None or self._changed.changes is None:
            return []
        changes = self._with_drawn(self._changed.changes, drawn)
        frame = conform(changes, _given(changes), self._layout.schema, [CHANGE_TYPE])
        settings = self._settings(self._layout, CHANGE_DATA_DIRECTORY)
        return change_actions(self._plane.write_files(frame, layout, settings))

    def _with_drawn(self, changes: DataFrame, drawn: Sequence[Add]) -> DataFrame:
        """The changes with the rows that just drew their identity, from the files they are in."""
        if not drawn:
            return changes
        table = self._wanted.table
        files = synthetic_snapshot(self._store, table.protocol, table.metadata, drawn)
        rows = self._plane.scan_synthetic(files)
        f = functions_of(rows)
        columns = [f.col(quote(name)) for name in self._layout.schema.names]
        new = rows.select(*columns, f.lit("insert").alias(CHANGE_TYPE))
        return changes.unionByName(new)


def _union(frames: Sequence[DataFrame]) -> DataFrame:
    whole, *others = frames
    for each in others:
        whole = whole.unionAll(each)
    return whole


def _given(frame: DataFrame) -> StructType:
    return parse_schema(frame.schema.json())
