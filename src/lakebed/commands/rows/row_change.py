"""Committing a change of rows: the changed rows become deletion vectors or new files, and a commit.

With deletion vectors (`delta.enableDeletionVectors`) changed rows are marked in their files and
only new rows are written. Without, the other rows of these files are written again. The change
feed (PROTOCOL: Change Data Files) gets files of its own where readers could not tell the changes
from the files of the commit: where rows were updated, or copied.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame

from lakebed.arrow.file_rows import may_match
from lakebed.commands.rows.row_scan import ROW_ID, ROW_VERSION, RowScan
from lakebed.commands.target.row_target import RowTarget
from lakebed.commands.target.write_target import Target
from lakebed.data_files.file_layout import HANDLED_FEATURES, FileLayout, WrittenFiles
from lakebed.data_files.identity_high_water_marks import (
    generated_identity_columns,
    with_new_high_water_marks,
)
from lakebed.errors import JobFailedError
from lakebed.formats.deletion_vectors import RowIndexSet
from lakebed.log.snapshot import Snapshot
from lakebed.log.synthetic_snapshot import mapped_field, synthetic_snapshot
from lakebed.spark.columns.projection import quote
from lakebed.spark.plane.plane import FileSettings
from lakebed.spark.plane.position_bitmaps import Positions
from lakebed.spark.read.command_reads import CommandReads
from lakebed.spark.session.session_kind import functions_of
from lakebed.spark.write.frame_rows import FrameRows
from lakebed.spark.write.rows import conform, prepare_frame
from lakebed.spec.actions import Action, Add, AddCdc, Remove
from lakebed.spec.features import is_supported
from lakebed.spec.properties import TableProperties
from lakebed.spec.schema import STRING, StructField, StructType, parse_schema, schema_to_json
from lakebed.transaction import Committed, Operation, Transaction
from lakebed.transaction.row_tracking import PRESERVED_TAG, physical_records

CHANGE_TYPE = "_change_type"
CHANGE_FOLDER = "_change_data"


@dataclass(frozen=True)
class NewRows:
    """Rows to add. `given` are the columns of the table that the frame has.

    Updated rows keep the values of identity columns and bring their row ids along.
    """

    frame: DataFrame
    given: StructType
    updated: bool = False


@dataclass(frozen=True)
class ChangedRows:
    """The rows that a command deletes and adds, and both for the change feed.

    `changes` has the columns of the table and `CHANGE_TYPE`; it is read only where it is needed.
    `num_new` is how many rows have to come out of `new`, if that is known.
    """

    scan: RowScan
    marks: Mapping[int, RowIndexSet] = field(default_factory=dict)
    new: Sequence[NewRows] = ()
    changes: DataFrame | None = None
    seen: Mapping[int, RowIndexSet] = field(default_factory=dict)
    """Rows that stay, but whose presence decided something."""
    has_updates: bool = False
    num_new: int | None = None
    tracked: Callable[[], Positions] | None = None
    """Instead of marks: the positions of the updated rows, known once the new ones are written."""
    table: Target | None = None
    """What the table becomes, if the command changes its schema."""


def uses_vectors(snapshot: Snapshot) -> bool:
    enabled = snapshot.properties.enable_deletion_vectors
    return bool(enabled) and is_supported(snapshot.protocol, "deletionVectors")


class RowChange:
    """One attempt of a command, on one version."""

    def __init__(
        self,
        target: RowTarget,
        snapshot: Snapshot,
        operation: Operation,
        names: Mapping[str, str] | None = None,
    ) -> None:
        """`names` are other names of metrics than those of DELETE and UPDATE."""
        self._target = target
        self._snapshot = snapshot
        self._tracks = bool(snapshot.properties.enable_row_tracking)
        tags = {PRESERVED_TAG: "true"} if self._tracks else {}
        self.transaction = Transaction(
            snapshot,
            store=snapshot.store,
            operation=replace(operation, tags={**operation.tags, **tags}),
            user_metadata=target.user_metadata,
            handles=HANDLED_FEATURES,
            row_level=target.row_level,
            may_match=may_match if target.row_level else None,
        )
        self.reads = CommandReads.of_row_change(self.transaction)
        self._names = names or {}
        self._started = time.monotonic()

    def commit(
        self, changed: ChangedRows, count: Callable[[int, int], Mapping[str, int]]
    ) -> dict[str, int]:
        """Writes what is to be written and commits; all metrics of the command.

        `count` gets the numbers of new rows and of copied ones, and gives the metrics that only the
        command knows.
        """
        writing = time.monotonic()
        changed = replace(changed, scan=changed.scan.counted(changed.marks))
        table = changed.table or Target(self._snapshot.metadata, self._snapshot.protocol)
        layout = FileLayout.of(table.metadata, table.protocol)
        vectors = uses_vectors(self._snapshot)
        kept = None if vectors else changed.scan.kept(changed.marks)
        copied = 0 if kept is None else changed.scan.num_kept(changed.marks)
        written, drawn = self._write(changed, layout, kept)
        changed = self._with_tracked(changed)
        if changed.tracked is not None and not changed.marks:
            return dict(count(0, 0))
        cdc = self._change_files(changed, layout, drawn)
        if changed.num_new is not None:
            _check_count(written.num_rows, changed.num_new + copied)
        if vectors:
            self._mark(changed)
        else:
            self._remove(changed)
        self.transaction.stage(*self._table_changes(table, written), *written.adds, *cdc)
        counted = {
            **count(written.num_rows - copied, copied),
            "numAddedFiles": len(written.adds),
            "numAddedBytes": sum(add.size for add in written.adds),
            "numAddedChangeFiles": len(cdc),
            "numCopiedRows": copied,
            "executionTimeMs": _millis(self._started),
            "scanTimeMs": int((writing - self._started) * 1000),
            "rewriteTimeMs": _millis(writing),
        }
        return self._finish(counted, changed)

    def _with_tracked(self, changed: ChangedRows) -> ChangedRows:
        if changed.tracked is None:
            return changed
        tracked = changed.tracked()
        scan = changed.scan.counted(tracked.rows)
        return replace(changed, scan=scan, marks=tracked.rows, num_new=tracked.num_rows)

    # --- rows ---

    def _write(
        self, changed: ChangedRows, layout: FileLayout, kept: DataFrame | None
    ) -> tuple[WrittenFiles, list[Add]]:
        """New rows and those that are copied, in one job if no identity values are drawn.

        The second value are those of the files whose rows drew values of identity columns.
        """
        carried = changed.scan.row_columns
        frames, drawing = [], []
        columns: set[str] = set()
        for rows in changed.new:
            drawn_here = (
                () if rows.updated else generated_identity_columns(rows.given, layout.schema)
            )
            columns.update(drawn_here)
            if drawn_here:
                drawing.append(rows)
            else:
                frames.append(self._prepared(rows, layout, carried))
        if kept is not None:
            frames.append(conform(kept, self._snapshot.schema, layout.schema, carried))
        adds: list[Add] = []
        schema, count = layout.schema, 0
        if frames:
            adds = self._files(_union(frames), layout, changed.scan)
            count = sum(physical_records(add) or 0 for add in adds)
        drawn: list[Add] = []
        for rows in drawing:
            # Values of identity columns go by the number of tasks, so such rows go alone.
            source = rows.frame.select(*[quote(name) for name in rows.given.names])
            plane, store = self._target.plane, self._snapshot.store
            new = FrameRows(source, plane, store).write(replace(layout, schema=schema))
            drawn += new.adds
            schema, count = new.schema, count + new.num_rows
        # As in delta-spark the other rows of a command that draws values move the mark too.
        return WrittenFiles(
            [*adds, *drawn], with_new_high_water_marks(schema, columns, adds), count
        ), drawn

    def _prepared(self, rows: NewRows, layout: FileLayout, carried: Sequence[str]) -> DataFrame:
        frame = rows.frame
        if carried and not rows.updated:
            f = functions_of(frame)
            nulls = {name: f.lit(None).cast("long") for name in carried}
            frame = frame.withColumns(nulls)
        return prepare_frame(
            frame, rows.given, layout, keeps_identity=rows.updated, extra_columns=carried
        )

    def _files(self, frame: DataFrame, layout: FileLayout, scan: RowScan) -> list[Add]:
        materialized = scan.materialized
        if materialized is not None:
            names = {ROW_ID: materialized[0].name, ROW_VERSION: materialized[1].name}
            frame = frame.withColumnsRenamed(names)
            layout = layout.with_columns(materialized)
        return self._target.plane.write_files(frame, layout, self._settings(layout))

    def _settings(self, layout: FileLayout, folder: str | None = None) -> FileSettings:
        codec = layout.configuration.get(TableProperties.parquet_compression_codec.key)
        return FileSettings(compression=codec, folder=folder)

    # --- files that change ---

    def _mark(self, changed: ChangedRows) -> None:
        for number in changed.marks.keys() | changed.seen.keys():
            rows = changed.marks.get(number, RowIndexSet())
            seen = changed.seen.get(number)
            self.transaction.mark_rows(changed.scan.adds[number], rows, seen=seen)

    def _remove(self, changed: ChangedRows) -> None:
        adds = changed.scan.adds
        self.transaction.read_paths([adds[n] for n in changed.marks.keys() | changed.seen.keys()])
        self.remove([adds[number] for number in changed.marks])

    def remove(self, adds: Sequence[Add]) -> None:
        now = int(time.time() * 1000)
        self.transaction.stage(*[Remove.of(add, timestamp=now) for add in adds])

    # --- the change feed ---

    def _change_files(
        self, changed: ChangedRows, layout: FileLayout, drawn: Sequence[Add]
    ) -> list[AddCdc]:
        if not self._snapshot.properties.enable_change_data_feed or changed.changes is None:
            return []
        if not changed.has_updates and not self._copies(changed):
            return []
        kind = mapped_field(StructField(CHANGE_TYPE, STRING), _CHANGE_NUMBER, layout.mode)
        changes = self._with_drawn(changed, layout, drawn)
        frame = conform(changes, _given(changes), layout.schema, [CHANGE_TYPE])
        wider = layout.with_columns([kind])
        settings = self._settings(layout, CHANGE_FOLDER)
        files = self._target.plane.write_files(frame, wider, settings)
        return [AddCdc(add.path, add.partition_values, add.size) for add in files]

    def _with_drawn(
        self, changed: ChangedRows, layout: FileLayout, drawn: Sequence[Add]
    ) -> DataFrame:
        """The changes with the rows that just drew their identity, from the files they are in."""
        assert changed.changes is not None
        if not drawn:
            return changed.changes
        table = changed.table or Target(self._snapshot.metadata, self._snapshot.protocol)
        files = synthetic_snapshot(self._snapshot.store, table.protocol, table.metadata, drawn)
        rows = self._target.plane.scan_synthetic(files)
        f = functions_of(rows)
        columns = [f.col(quote(name)) for name in layout.schema.names]
        new = rows.select(*columns, f.lit("insert").alias(CHANGE_TYPE))
        return changed.changes.unionByName(new)

    def _copies(self, changed: ChangedRows) -> bool:
        """Whether rows that did not change get new files."""
        if uses_vectors(self._snapshot):
            return False
        return any(not changed.scan.is_dead(number, rows) for number, rows in changed.marks.items())

    # --- the commit ---

    def _table_changes(self, table: Target, written: WrittenFiles) -> list[Action]:
        """New metadata and protocol, if the schema changed or marks of identity columns moved."""
        actions: list[Action] = []
        metadata = table.metadata
        if written.schema != table.schema:
            metadata = replace(metadata, schema_string=schema_to_json(written.schema))
        if table.protocol != self._snapshot.protocol:
            actions.append(table.protocol)
        if metadata != self._snapshot.metadata:
            actions.append(metadata)
        return actions

    def finish(self, metrics: Mapping[str, int]) -> dict[str, int]:
        """Commits what is staged, for changes that need no rows."""
        times = {"executionTimeMs": _millis(self._started), "scanTimeMs": 0, "rewriteTimeMs": 0}
        return self._finish({**metrics, **times}, None)

    def _finish(self, metrics: Mapping[str, int], changed: ChangedRows | None) -> dict[str, int]:
        more = _vector_metrics(changed, self._snapshot) if changed else {}
        counted = {self._names.get(key, key): value for key, value in {**metrics, **more}.items()}
        self.transaction.metrics(counted)
        outcome = self.transaction.commit().unwrap()
        assert isinstance(outcome, Committed)
        return counted


def _vector_metrics(changed: ChangedRows, snapshot: Snapshot) -> dict[str, int]:
    """Files that went, and vectors by what became of them."""
    dead = [n for n, rows in changed.marks.items() if changed.scan.is_dead(n, rows)]
    had = [n for n in changed.marks if changed.scan.adds[n].deletion_vector is not None]
    gone = dead if uses_vectors(snapshot) else list(changed.marks)
    vectors = uses_vectors(snapshot)
    updated = [n for n in had if n not in dead] if vectors else []
    added = [n for n in changed.marks if n not in dead] if vectors else []
    return {
        "numRemovedFiles": len(gone),
        "numRemovedBytes": sum(changed.scan.adds[n].size for n in gone),
        "numDeletionVectorsAdded": len(added),
        "numDeletionVectorsRemoved": len(had),
        "numDeletionVectorsUpdated": len(updated),
    }


def _union(frames: Sequence[DataFrame]) -> DataFrame:
    whole, *others = frames
    for each in others:
        whole = whole.unionAll(each)
    return whole


def _given(frame: DataFrame) -> StructType:
    return parse_schema(frame.schema.json())


def _check_count(written: int, expected: int) -> None:
    if written != expected:
        raise JobFailedError(
            f"{expected} rows were to be written, but {written} were: a second look at the rows "
            "found others than the first, so nothing was committed",
            hint="a condition or a source gives another result each time; store the source first",
        )


def _millis(since: float) -> int:
    return int((time.monotonic() - since) * 1000)


_CHANGE_NUMBER = 10
