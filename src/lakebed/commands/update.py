"""UPDATE: rows for which a condition is true get new values.

One scan finds the rows, a second one of the files that have any writes them anew. On tables with a
change feed the rows are kept between the two, so that the feed has exactly what was written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame

from lakebed.commands.assignments import (
    Assignment,
    as_column,
    assignments,
    is_generated,
    new_values,
)
from lakebed.commands.delete import ALL
from lakebed.commands.row_change import CHANGE_TYPE, Found, NewRows, RowChange
from lakebed.commands.row_condition import check_condition, described
from lakebed.commands.row_scan import ROW_VERSION, RowScan
from lakebed.commands.row_target import RowTarget
from lakebed.errors import InvalidArgumentError
from lakebed.formats.file_actions import adds_from_table
from lakebed.log.selection import select_files
from lakebed.log.snapshot import Snapshot
from lakebed.spark.functions import functions_of
from lakebed.spark.generated import with_generated
from lakebed.spark.positions import find_positions
from lakebed.spark.projection import quote
from lakebed.spec.column_metadata import identity
from lakebed.spec.schema import StructType
from lakebed.transaction import Operation


def update_rows(
    target: RowTarget, condition: str | Column | None, values: Mapping[str, str | Column]
) -> dict[str, int]:
    """Updates the rows; what the history says about it, `numUpdatedRows` among it."""
    if not values:
        raise InvalidArgumentError(
            "UPDATE sets no column", hint='give for example set={"price": "price * 1.1"}'
        )
    return target.change(lambda snapshot: _Update(target, snapshot, condition, values).run())


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
        self._condition = condition
        self._predicate = target.predicate(snapshot, condition)
        aliases = () if target.alias is None else (target.alias,)
        self._assignments = assignments(values, self._schema, aliases)
        check_identity(self._assignments, self._schema)
        self._feed = bool(snapshot.properties.enable_change_data_feed)
        operation = Operation("UPDATE", {"predicate": described(condition)})
        self._change = RowChange(target, snapshot, operation)

    def run(self) -> dict[str, int]:
        adds = list(adds_from_table(select_files(self._snapshot, self._predicate, ALL).files))
        if not adds:
            return {"numUpdatedRows": 0}
        scan = RowScan(self._snapshot, self._target.plane, adds)
        positions = find_positions(self._matching(scan))
        if not positions.rows:
            return {"numUpdatedRows": 0}
        self._change.transaction.read_predicate(self._predicate)
        touched = sorted(positions.rows)
        second = RowScan(self._snapshot, self._target.plane, [adds[n] for n in touched])
        marks = {place: positions.rows[number] for place, number in enumerate(touched)}
        rows = self._updated(second)
        given = StructType(
            tuple(field for field in self._schema.fields if self._is_given(field.name))
        )
        found = Found(
            second,
            marks,
            [NewRows(rows, given, updated=True)],
            self._changes(rows) if self._feed else None,
            has_updates=True,
            num_new=positions.num_rows,
        )
        return self._change.commit(found, lambda _: {"numUpdatedRows": positions.num_rows})

    def _matching(self, scan: RowScan) -> DataFrame:
        frame = scan.frame()
        if self._target.alias is not None:
            frame = frame.alias(self._target.alias)
        if self._condition is None:
            return frame
        matching = frame.where(as_column(functions_of(frame), self._condition))
        check_condition(matching, "UPDATE")
        return matching

    def _updated(self, scan: RowScan) -> DataFrame:
        """The rows with their new values; with a change feed also with the old ones."""
        frame = self._matching(scan)
        f = functions_of(frame)
        current = {name: f.col(quote(name)) for name in self._schema.names}
        changed = new_values(frame, self._assignments, self._schema, current)
        columns = [changed.get(name, old).alias(name) for name, old in current.items()]
        for name in scan.row_columns:
            # The version of a row that changes is that of the commit, which nobody knows yet.
            is_version = name == ROW_VERSION
            kept = f.lit(None).cast("long") if is_version else f.col(name)
            columns.append(kept.alias(name))
        if not self._feed:
            return frame.select(*columns)
        before = [old.alias(_before(name)) for name, old in current.items()]
        return frame.select(*columns, *before).localCheckpoint()

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
