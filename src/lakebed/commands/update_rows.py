"""UPDATE: rows for which a condition is true get new values.

One scan finds the rows, a second one of the files that have any writes them anew. On tables with a
change feed the rows are kept between the two, so that the feed has exactly what was written.

The first scan reads only what the condition needs, which pays where few of many files have such
rows. Where there is so little to read that the tasks run all at once, one scan does both: its rows
are written, and their positions noted on the way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame

from lakebed.commands.delete_rows import ALL
from lakebed.commands.optimize.auto_compaction import auto_compact
from lakebed.commands.rows.assignments import (
    Assignment,
    as_column,
    assignments,
    is_generated,
    new_values,
)
from lakebed.commands.rows.row_change import CHANGE_TYPE, Found, NewRows, RowChange, uses_vectors
from lakebed.commands.rows.row_condition import check_condition, described, known_predicate
from lakebed.commands.rows.row_positions import IN_SCAN_ORDER, RowPositions
from lakebed.commands.rows.row_scan import ROW_VERSION, RowScan
from lakebed.commands.target.row_target import RowTarget
from lakebed.errors import InvalidArgumentError
from lakebed.expressions import Expression
from lakebed.formats.file_actions import adds_from_table
from lakebed.log.selection import select_files
from lakebed.log.snapshot import Snapshot
from lakebed.spark.columns.projection import quote
from lakebed.spark.internals.call_sites import without_call_sites
from lakebed.spark.plane.plane import Noting
from lakebed.spark.plane.position_bitmaps import FILE, POSITION, Positions
from lakebed.spark.session.session_kind import functions_of, is_connect
from lakebed.spark.write.generated_values import with_generated
from lakebed.spark.write.store_casts import change_cast
from lakebed.spark.write.type_conversion import TypeConversion
from lakebed.spec.actions import Add
from lakebed.spec.columns.column_metadata import identity
from lakebed.spec.schema import StructType
from lakebed.transaction import Operation


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
        self._condition = target.translated(snapshot, condition)
        self._predicate = target.predicate(snapshot, condition)
        aliases = () if target.alias is None else (target.alias,)
        named = target.all_translated(snapshot, values)
        self._assignments = assignments(named, self._schema, aliases)
        check_identity(self._assignments, self._schema)
        self._feed = bool(snapshot.properties.enable_change_data_feed)
        operation = Operation("UPDATE", {"predicate": described(condition)})
        self._change = RowChange(target, snapshot, operation)

    def run(self) -> dict[str, int]:
        adds = list(adds_from_table(select_files(self._snapshot, self._predicate, ALL).files))
        if not adds:
            return {"numUpdatedRows": 0}
        scan = RowScan(self._snapshot, self._target.plane, adds)
        self._change.transaction.read_predicate(self._known_predicate(scan))
        finder = RowPositions(scan, self._target.most(IN_SCAN_ORDER))
        if self._is_small(adds) and finder.fits_driver and uses_vectors(self._snapshot):
            noting = scan.plane.noting(self._updated(scan))
            if noting is not None:
                return self._in_one_scan(scan, noting)
        return self._in_two_scans(scan, finder.find(self._matching(scan)))

    def _known_predicate(self, scan: RowScan) -> Expression | None:
        if self._predicate is not None or self._condition is None:
            return self._predicate
        return known_predicate(self._matching(scan), self._schema)

    def _is_small(self, adds: Sequence[Add]) -> bool:
        if self._feed or is_connect(self._target.session):
            return False
        parallel = int(self._target.session.sparkContext.defaultParallelism)
        return sum(add.size for add in adds) <= parallel * _TASK_BYTES

    def _in_one_scan(self, scan: RowScan, noting: Noting) -> dict[str, int]:
        rows = NewRows(noting.frame, self._given, updated=True)
        found = Found(scan, new=[rows], noted=noting.positions, has_updates=True)
        return self._change.commit(found, lambda new, _: {"numUpdatedRows": new})

    def _in_two_scans(self, scan: RowScan, positions: Positions) -> dict[str, int]:
        if not positions.rows:
            return {"numUpdatedRows": 0}
        adds = scan.adds
        touched = sorted(positions.rows)
        second = RowScan(self._snapshot, self._target.plane, [adds[n] for n in touched])
        marks = {place: positions.rows[number] for place, number in enumerate(touched)}
        rows = self._updated(second)
        found = Found(
            second,
            marks,
            [NewRows(rows, self._given, updated=True)],
            self._changes(rows) if self._feed else None,
            has_updates=True,
            num_new=positions.num_rows,
        )
        return self._change.commit(found, lambda *_: {"numUpdatedRows": positions.num_rows})

    def _matching(self, scan: RowScan) -> DataFrame:
        frame = scan.frame()
        if self._target.alias is not None:
            frame = frame.alias(self._target.alias)
        if self._condition is None:
            return frame
        matching = frame.where(as_column(frame, self._condition))
        check_condition(matching, "UPDATE")
        return self._change.reads.pinned(matching)

    def _updated(self, scan: RowScan) -> DataFrame:
        """The rows with their new values; with a change feed also with the old ones."""
        frame = self._matching(scan)
        f = functions_of(frame)
        current = {name: f.col(quote(name)) for name in self._schema.names}
        conversion = TypeConversion(f, change_cast(frame.sparkSession), fills=False)
        changed = new_values(frame, self._assignments, self._schema, current, conversion)
        columns = [changed.get(name, old).alias(name) for name, old in current.items()]
        for name in scan.row_columns:
            # The version of a row that changes is that of the commit, which nobody knows yet.
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


def check_identity(given: Sequence[Assignment], schema: StructType) -> None:
    for each in given:
        field = schema.field(each.path[0])
        if identity(field) is not None:
            raise InvalidArgumentError(
                f"column {field.name!r} is an identity column: its values cannot be updated",
                hint=f"leave {field.name!r} out of the values to set",
            )


def _before(name: str) -> str:
    return f"__lakebed_before_{name}"


_TASK_BYTES = 128 << 20
"""What Spark gives to one task, as it is set."""
