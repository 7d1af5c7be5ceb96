"""UPDATE: rows for which a condition is true get new values.

One scan finds the rows, a second one reads the files that have any and writes the new rows. On
tables with a change feed the new rows are stored first, so that the feed has exactly what is
written.

The first scan reads only what the condition needs, which pays where few of many files have such
rows. Where there is so little to read that the tasks run all at once, one scan does both: its rows
are written, and their positions are tracked on the way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame

from lakebed.commands.optimize.auto_compaction import auto_compact
from lakebed.commands.rows.assignments import (
    assignments,
    check_identity,
    is_generated,
    new_values,
)
from lakebed.commands.rows.row_change import (
    CHANGE_TYPE,
    ChangedRows,
    NewRows,
    RowChange,
    uses_vectors,
)
from lakebed.commands.rows.row_condition import RowCondition
from lakebed.commands.rows.row_positions import IN_SCAN_ORDER, RowPositions
from lakebed.commands.rows.row_scan import ROW_VERSION, RowScan
from lakebed.commands.target.row_target import RowTarget
from lakebed.errors import InvalidArgumentError
from lakebed.log.snapshot import Snapshot
from lakebed.spark.columns.projection import quote
from lakebed.spark.internals.call_sites import without_call_sites
from lakebed.spark.plane.plane import TrackedRows
from lakebed.spark.plane.position_bitmaps import FILE, POSITION, Positions
from lakebed.spark.session.session_kind import functions_of, is_connect
from lakebed.spark.write.generated_values import with_generated
from lakebed.spec.actions import Add
from lakebed.spec.schema import StructType


@without_call_sites()
def update_rows(
    target: RowTarget, condition: str | Column | None, values: Mapping[str, str | Column]
) -> dict[str, int]:
    """Updates the rows; what the history says about it, `numUpdatedRows` among it."""
    if not values:
        raise InvalidArgumentError(
            "UPDATE sets no column", hint='give for example set={"price": "price * 1.1"}'
        )
    metrics = target.change(lambda snapshot: _Update(target, snapshot, condition, values).run())
    auto_compact(target)
    return metrics


class _Update:
    def __init__(
        self,
        target: RowTarget,
        snapshot: Snapshot,
        condition: str | Column | None,
        values: Mapping[str, str | Column],
    ) -> None:
        self._target = target
        self._snapshot = snapshot
        self._schema = snapshot.schema
        self._condition = RowCondition(target, snapshot, condition, "UPDATE")
        aliases = () if target.alias is None else (target.alias,)
        named = target.all_translated(snapshot, values)
        self._assignments = assignments(named, self._schema, aliases)
        check_identity(self._assignments, self._schema)
        self._feed = bool(snapshot.properties.enable_change_data_feed)
        self._change = RowChange(target, snapshot, self._condition.operation)

    def run(self) -> dict[str, int]:
        adds = self._condition.files()
        if not adds:
            return {"numUpdatedRows": 0}
        scan = self._condition.scan(adds)
        known = self._condition.known_predicate(lambda: self._matching(scan))
        self._change.transaction.read_predicate(known)
        finder = RowPositions(scan, self._target.most(IN_SCAN_ORDER))
        if self._is_small(adds) and finder.fits_driver and uses_vectors(self._snapshot):
            tracked = scan.plane.track_positions(self._updated(scan))
            if tracked is not None:
                return self._in_one_scan(scan, tracked)
        return self._in_two_scans(scan, finder.find(self._matching(scan)))

    def _is_small(self, adds: Sequence[Add]) -> bool:
        if self._feed or is_connect(self._target.session):
            return False
        parallel = int(self._target.session.sparkContext.defaultParallelism)
        return sum(add.size for add in adds) <= parallel * _TASK_BYTES

    def _in_one_scan(self, scan: RowScan, tracked: TrackedRows) -> dict[str, int]:
        rows = NewRows(tracked.frame, self._given, updated=True)
        changed = ChangedRows(scan, new=[rows], tracked=tracked.positions, has_updates=True)
        return self._change.commit(changed, lambda new, _: {"numUpdatedRows": new})

    def _in_two_scans(self, scan: RowScan, positions: Positions) -> dict[str, int]:
        if not positions.rows:
            return {"numUpdatedRows": 0}
        adds = scan.adds
        touched = sorted(positions.rows)
        second = self._condition.scan([adds[n] for n in touched])
        marks = {number: positions.rows[n] for number, n in enumerate(touched)}
        rows = self._updated(second)
        changed = ChangedRows(
            second,
            marks,
            [NewRows(rows, self._given, updated=True)],
            self._changes(rows) if self._feed else None,
            has_updates=True,
            num_new=positions.num_rows,
        )
        return self._change.commit(changed, lambda *_: {"numUpdatedRows": positions.num_rows})

    def _matching(self, scan: RowScan) -> DataFrame:
        return self._condition.matching(scan, self._change.reads)

    def _updated(self, scan: RowScan) -> DataFrame:
        """The rows with their new values; with a change feed also with the old ones."""
        frame = self._matching(scan)
        f = functions_of(frame)
        current = {name: f.col(quote(name)) for name in self._schema.names}
        changed = new_values(frame, self._assignments, self._schema, current)
        columns = [changed.get(name, old).alias(name) for name, old in current.items()]
        for name in scan.row_columns:
            # The version of a row that changes is that of the commit, which is not known yet.
            is_version = name == ROW_VERSION
            kept = f.lit(None).cast("long") if is_version else f.col(name)
            columns.append(kept.alias(name))
        if not self._feed:
            return self._change.reads.pinned(frame.select(*columns, FILE, POSITION))
        before = [old.alias(_before(name)) for name, old in current.items()]
        return self._change.reads.pinned(frame.select(*columns, *before)).localCheckpoint()

    @property
    def _given(self) -> StructType:
        return StructType(tuple(each for each in self._schema.fields if self._is_given(each.name)))

    def _is_given(self, name: str) -> bool:
        """Generated columns that are not set are computed again."""
        is_set = any(each.path[0] == name for each in self._assignments)
        return is_set or not is_generated(self._schema.field(name))

    def _changes(self, rows: DataFrame) -> DataFrame:
        f = functions_of(rows)
        before = [f.col(quote(_before(name))).alias(name) for name in self._schema.names]
        after = with_generated(rows, self._schema, self._is_given)
        old = rows.select(*before, f.lit("update_preimage").alias(CHANGE_TYPE))
        return old.unionAll(after.withColumn(CHANGE_TYPE, f.lit("update_postimage")))


def _before(name: str) -> str:
    return f"__lakebed_before_{name}"


_TASK_BYTES = 128 << 20
"""What Spark gives to one task, as it is set."""
