"""The clauses of a MERGE on a row: which clause applies, and the values it gives.

Both sides of the join have their columns twice: under their own names, for the expressions of the
user, and under numbers (`t0`, `s0`, ...), which nothing else is called.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from pyspark.sql import Column, DataFrame

from lakebed.commands.merge.clause_columns import ClauseColumns
from lakebed.commands.merge.merge_request import Clause, MergeRequest
from lakebed.commands.rows.new_values import as_column, new_values
from lakebed.commands.target.row_target import RowTarget
from lakebed.log.snapshot import Snapshot
from lakebed.spark.columns.bound_columns import BoundColumns, SourceFrame
from lakebed.spark.columns.projection import spark_type
from lakebed.spark.session.session_kind import functions_of
from lakebed.spark.write.type_conversion import converted
from lakebed.spec.schema import StructField, StructType

ACTION = "__lakebed_action"
"""The number of the clause that a row falls to; null if none."""
SOURCE = "__lakebed_source"
"""The number of the row in the source."""


def target_name(number: int) -> str:
    return f"__lakebed_t{number}"


def source_name(number: int) -> str:
    return f"__lakebed_s{number}"


def output_name(number: int) -> str:
    return f"__lakebed_o{number}"


def bound_request(
    target: RowTarget, snapshot: Snapshot, request: MergeRequest, source: StructType
) -> MergeRequest:
    """The request with Columns of the user's DataFrames bound to the numbered columns of the join.

    `source` is the schema of the source.
    """
    f = functions_of(request.source)
    places = {field.name: place for place, field in enumerate(snapshot.schema.fields)}
    both = BoundColumns(
        target.session,
        target.frames,
        snapshot.schema,
        lambda field: f.col(target_name(places[field.name])),
        SourceFrame(request.source, source),
        lambda place: f.col(source_name(place)),
    )
    scopes = {
        "matched": both,
        "not_matched": replace(both, target=None),
        "not_matched_by_source": replace(both, source=None),
    }
    return replace(
        request,
        condition=_bound(both, request.condition),
        clauses=tuple(_bound_clause(scopes[each.kind], each) for each in request.clauses),
    )


@dataclass(frozen=True)
class Clauses:
    """The clauses of one MERGE against the columns of both sides.

    `schema` is that of the table after the command, `table` the one that it has now.
    """

    request: MergeRequest
    schema: StructType
    table: StructType
    source: StructType
    frame: DataFrame = field(repr=False)
    """Both sides joined, or the source alone; only for its names and types."""
    _known: dict[int, dict[str, Column]] = field(default_factory=dict, repr=False)

    @cached_property
    def _f(self) -> Any:
        return functions_of(self.frame)

    def action(self, kinds: Mapping[str, Column]) -> Column:
        """The first clause whose condition is true; `kinds` say which kinds a row may fall to."""
        f = self._f
        found = None
        for number, clause in enumerate(self.request.clauses):
            if clause.kind not in kinds:
                continue
            applies = kinds[clause.kind]
            if clause.condition is not None:
                applies = applies & as_column(self.frame, clause.condition)
            value = f.lit(number)
            found = f.when(applies, value) if found is None else found.when(applies, value)
        return f.lit(None).cast("int") if found is None else found

    @cached_property
    def columns(self) -> ClauseColumns:
        f = self._f
        return ClauseColumns(
            self.request, self.schema, self.source, lambda place: f.col(source_name(place))
        )

    def output(self, numbers: Sequence[int], field: StructField) -> Column:
        """The value of a column after the clause that a row falls to."""
        f = self._f
        null = f.lit(None).cast(spark_type(field.data_type))
        found = None
        for number in numbers:
            value = self._values(number).get(field.name, null)
            is_this = f.col(ACTION) == number
            found = f.when(is_this, value) if found is None else found.when(is_this, value)
        return null if found is None else found

    def current(self) -> dict[str, Column]:
        """The columns of the table as the target has them; what is new in the schema is null."""
        f = self._f
        numbers = {name: number for number, name in enumerate(self.table.names)}
        found: dict[str, Column] = {}
        for column in self.schema.fields:
            if column.name in numbers:
                value = f.col(target_name(numbers[column.name]))
                kind = self.table.field(column.name).data_type
                found[column.name] = converted(f, value, kind, column.data_type)
            else:
                found[column.name] = f.lit(None).cast(spark_type(column.data_type))
        return found

    def _values(self, number: int) -> Mapping[str, Column]:
        """The values of the columns by a clause that gives rows."""
        if number not in self._known:
            clause = self.request.clauses[number]
            given = self.columns.assignments(number)
            is_update = clause.kind != "not_matched"
            current = self.current() if is_update else {}
            evolves = self.request.schema_evolution
            keeps = evolves and clause.action == "update_all"
            changed = new_values(
                self.frame, given, self.schema, current, fills=evolves, keeps_fields=keeps
            )
            self._known[number] = {**current, **changed}
        return self._known[number]


def _bound_clause(scope: BoundColumns, clause: Clause) -> Clause:
    values = {name: _bound(scope, value) for name, value in clause.values.items()}
    return replace(clause, condition=_bound(scope, clause.condition), values=values)


def _bound(scope: BoundColumns, value: Any) -> Any:
    return value if value is None or isinstance(value, str) else scope.translated(value)
