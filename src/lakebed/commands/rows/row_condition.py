"""The condition of a DELETE or an UPDATE: which files and rows it selects, and how the history
shows it. Also whether conditions and sources give the same rows each time they are evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.types import StructType as SparkStruct

from lakebed.commands.rows.assignments import Assignment
from lakebed.commands.rows.change_target import described
from lakebed.commands.rows.frame_changes import FrameChanges
from lakebed.commands.rows.frame_updates import FrameUpdates
from lakebed.commands.rows.new_values import as_column
from lakebed.commands.rows.row_change import CHANGE_TYPE, RowChange, uses_vectors
from lakebed.commands.rows.row_positions import IN_SCAN_ORDER, RowPositions
from lakebed.commands.rows.row_scan import RowScan
from lakebed.commands.target.row_target import RowTarget
from lakebed.errors import InvalidArgumentError
from lakebed.expressions import Expression, references
from lakebed.formats.file_actions import adds_from_table
from lakebed.log.file_state import ADD_FIELDS
from lakebed.log.selection import select_files
from lakebed.log.snapshot import Snapshot
from lakebed.spark.columns.projection import quote
from lakebed.spark.read.command_reads import CommandReads
from lakebed.spark.session.session_kind import functions_of, is_connect
from lakebed.spec.actions import Add
from lakebed.spec.schema import StructType
from lakebed.transaction import Operation


class RowCondition:
    """The condition of one command on one version of the table; None is true for all rows."""

    def __init__(
        self,
        target: RowTarget,
        snapshot: Snapshot,
        condition: str | Column | None,
        command: str,
        said: Column | None = None,
    ) -> None:
        """`said` is the condition for the history where it selects all rows."""
        self._target = target
        self._snapshot = snapshot
        self._command = command
        self._condition = target.translated(snapshot, condition)
        self.predicate = target.predicate(snapshot, condition)
        """The condition as Lakebed reads it; None if only Spark knows which rows it selects."""
        shown = self._shown() if said is None else described_on_spark(target.session, said)
        self.operation = Operation(command, {"predicate": shown})

    def _shown(self) -> list[str]:
        """For the history. What functions of Columns are is known where the table's columns are."""
        session, condition = self._target.session, self._condition
        if condition is None or isinstance(condition, str) or is_connect(session):
            return described_on_spark(session, condition)
        from lakebed.spark.internals.classic_columns import column_text, condition_text

        text = column_text(session, condition)
        if text is None:
            rows = session.createDataFrame(
                [], SparkStruct.fromJson(self._snapshot.schema.to_json())
            )
            try:
                aliased = rows if self._target.alias is None else rows.alias(self._target.alias)
                text = condition_text(aliased.where(condition))
            except AnalysisException:
                # The scan of the rows will say the same.
                return described_on_spark(session, condition)
        return described_on_spark(session, condition) if text is None else [text]

    @property
    def selects_whole_files(self) -> bool:
        """Whether the log alone tells: all rows, or all rows of some partitions."""
        if self._condition is None:
            return True
        partitions = {name.lower() for name in self._snapshot.partition_columns}
        return self.predicate is not None and all(
            path[0].lower() in partitions for path in references(self.predicate)
        )

    def files(self) -> list[Add]:
        """The files that may have such rows, by the log."""
        return list(adds_from_table(select_files(self._snapshot, self.predicate, ADD_FIELDS).files))

    def deleted(self, adds: Sequence[Add], change: RowChange) -> FrameChanges | None:
        """The rows of the files for which the condition is true, which go; None if none is."""
        reads = CommandReads.of_row_change(change.transaction)
        scan = self._scan(adds)
        matching = self._matching(scan, reads)
        if not adds:
            # The statistics rule out every file, and Spark has checked the condition.
            return None
        positions = RowPositions(scan, self._target.most(IN_SCAN_ORDER)).find(matching)
        if not positions.rows:
            return None
        known = self._known_predicate(lambda: matching)
        changes = self._deletes(matching)
        return FrameChanges(scan, known, positions.rows, changes=changes, num_new=0)

    def updated(
        self, adds: Sequence[Add], given: Sequence[Assignment], change: RowChange
    ) -> FrameChanges | None:
        """The rows of the files for which the condition is true, with new values; None if none."""
        if not adds:
            return None
        reads = CommandReads.of_row_change(change.transaction)
        known = self._known_predicate(lambda: self._matching(self._scan(adds), reads))
        translated = [
            replace(each, value=self._target.translated(self._snapshot, each.value))
            for each in given
        ]
        updates = FrameUpdates(
            self._target,
            self._snapshot,
            translated,
            lambda scan: self._matching(scan, reads),
            reads,
            known,
        )
        return updates.of(adds)

    def _scan(self, adds: Sequence[Add]) -> RowScan:
        return RowScan(self._snapshot, self._target.plane, adds)

    def _matching(self, scan: RowScan, reads: CommandReads) -> DataFrame:
        """The rows of the files for which the condition is true."""
        frame = scan.frame()
        if self._target.alias is not None:
            frame = frame.alias(self._target.alias)
        if self._condition is None:
            return frame
        filtered = frame.where(as_column(frame, self._condition))
        check_condition(filtered, self._command)
        return reads.pinned(filtered)

    def _deletes(self, matching: DataFrame) -> DataFrame | None:
        feed = self._snapshot.properties.enable_change_data_feed
        if not feed or uses_vectors(self._snapshot):
            return None
        f = functions_of(matching)
        columns = [f.col(quote(name)) for name in self._snapshot.schema.names]
        return matching.select(*columns, f.lit("delete").alias(CHANGE_TYPE))

    def _known_predicate(self, matching: Callable[[], DataFrame]) -> Expression | None:
        """A predicate that is true for all matching rows; None if nothing is known.

        `matching` gives the matching rows of any scan, and is called only if it is needed.
        """
        if self.predicate is not None or self._condition is None:
            return self.predicate
        return _pushed_predicate(matching(), self._snapshot.schema)


def described_on_spark(session: SparkSession, condition: str | Column | None) -> list[str]:
    """As `described`, of a Column too."""
    if condition is None or isinstance(condition, str):
        return described(condition)
    if not is_connect(session):
        from lakebed.spark.internals.classic_columns import column_text

        text = column_text(session, condition)
        if text is not None:
            return [text]
    # What a column prints is its expression between `Column<'` and `'>`.
    return [str(condition)[len("Column<'") : -len("'>")]]


def check_condition(filtered: DataFrame, command: str) -> None:
    """Refuses a condition that may select other rows when it is evaluated again.

    `filtered` has the condition on top. On Spark Connect the client cannot tell: there the rows are
    counted twice and the command fails if the counts differ.
    """
    if is_connect(filtered):
        return
    from lakebed.spark.internals.plans import is_deterministic

    if not is_deterministic(filtered):
        raise InvalidArgumentError(
            f"the condition of {command} gives another result each time it is asked",
            hint="leave out rand(), uuid() and functions like them",
            condition="INVALID_NON_DETERMINISTIC_EXPRESSIONS",
        )


def materialized(frame: DataFrame) -> DataFrame:
    """The rows, stored unless they are certainly the same each time they are read.

    The versions of the tables in the frame are pinned: see `spark.read.command_reads`.
    """
    return frame if is_repeatable(frame) else frame.localCheckpoint()


def is_repeatable(frame: DataFrame) -> bool:
    """Whether the frame certainly has the same rows each time it is read."""
    if is_connect(frame):
        return False
    from lakebed.spark.internals.plans import is_stable

    return is_stable(frame)


def _pushed_predicate(filtered: DataFrame, schema: StructType) -> Expression | None:
    """What Spark's condition on top of `filtered` says, as far as Lakebed understands it."""
    if is_connect(filtered):
        return None
    from lakebed.spark.internals.jvm import Jvm
    from lakebed.spark.internals.plans import top_condition
    from lakebed.spark.native.filters import FilterReader

    reader = FilterReader(Jvm.of(filtered.sparkSession), schema, "none")
    return reader.read(top_condition(filtered)).expression
