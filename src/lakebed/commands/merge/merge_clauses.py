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

from lakebed.commands.merge.merge_request import UPDATES, Clause, MergeRequest
from lakebed.commands.rows.assignments import (
    as_column,
    assignments,
    check_identity,
    is_generated,
    name_parts,
    new_values,
)
from lakebed.commands.target.row_target import RowTarget
from lakebed.errors import InvalidArgumentError, SchemaMismatchError
from lakebed.log.snapshot import Snapshot
from lakebed.spark.columns.bound_columns import BoundColumns, SourceFrame
from lakebed.spark.columns.projection import spark_type
from lakebed.spark.session.session_kind import functions_of
from lakebed.spark.write.type_conversion import converted
from lakebed.spec.columns.column_metadata import current_default, identity
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


def assigned_schema(request: MergeRequest, source: StructType, table: StructType) -> StructType:
    """The columns and fields of the source that clauses give to the table under their names.

    As in delta-spark these are what schema evolution adds: all of them with UPDATE * or INSERT *,
    else those that a clause assigns to.
    """
    clauses = [each for each in request.clauses if each.kind != "not_matched_by_source"]
    takes_all = any(each.action in ("update_all", "insert_all") for each in clauses)
    aliases = () if request.target_alias is None else (request.target_alias,)
    paths = [_folded(name_parts(name, table, aliases)) for each in clauses for name in each.values]
    return _assigned(source, (), paths, takes_all)


def _assigned(
    schema: StructType, path: tuple[str, ...], paths: Sequence[tuple[str, ...]], takes_all: bool
) -> StructType:
    fields = []
    for each in schema.fields:
        here = (*path, each.name.lower())
        is_inside = any(other[: len(here)] == here for other in paths)
        if here in paths or (takes_all and not is_inside):
            fields.append(each)
        elif is_inside and isinstance(each.data_type, StructType):
            inner = _assigned(each.data_type, here, paths, takes_all)
            fields.append(replace(each, data_type=inner))
        elif takes_all:
            fields.append(each)
    return StructType(tuple(fields))


def _folded(parts: Sequence[str]) -> tuple[str, ...]:
    return tuple(part.lower() for part in parts)


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

    def given(self, number: int) -> StructType:
        """The columns that a clause gives values for; the table fills the others."""
        clause = self.request.clauses[number]
        if clause.action in UPDATES:
            assigned = self._assigned(clause)
            fields = (
                field
                for field in self.schema.fields
                if field.name in assigned or not is_generated(field)
            )
            return StructType(tuple(fields))
        assigned = self._assigned(clause)
        return StructType(tuple(field for field in self.schema.fields if field.name in assigned))

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
            given = assignments(self._pairs(clause), self.schema, self._aliases)
            is_update = clause.kind != "not_matched"
            current = self.current() if is_update else {}
            if clause.action == "update":
                check_identity(given, self.schema)
            evolves = self.request.schema_evolution
            keeps = evolves and clause.action == "update_all"
            changed = new_values(
                self.frame, given, self.schema, current, fills=evolves, keeps_fields=keeps
            )
            self._known[number] = {**current, **changed}
        return self._known[number]

    @property
    def _aliases(self) -> tuple[str, ...]:
        alias = self.request.target_alias
        return () if alias is None else (alias,)

    def _assigned(self, clause: Clause) -> set[str]:
        given = assignments(self._pairs(clause), self.schema, self._aliases)
        return {each.path[0] for each in given}

    def _pairs(self, clause: Clause) -> Mapping[str, str | Column]:
        if clause.action in ("update", "insert"):
            return clause.values
        return self._all_pairs(clause)

    def _all_pairs(self, clause: Clause) -> dict[str, str | Column]:
        """Every column from the one of the same name in the source."""
        f = self._f
        pairs: dict[str, str | Column] = {}
        for column in self.schema.fields:
            source = self.source.find(column.name)
            if source is None:
                self._check_absent(column, clause)
                continue
            marks = identity(column)
            if marks is not None and clause.action == "update_all":
                continue
            place = list(self.source.names).index(source.name)
            pairs[f"`{column.name.replace('`', '``')}`"] = f.col(source_name(place))
        if not pairs:
            raise InvalidArgumentError("the source has no column of the table")
        return pairs

    def _check_absent(self, column: StructField, clause: Clause) -> None:
        filled = is_generated(column) or identity(column) is not None
        filled = filled or current_default(column) is not None
        if not self.request.schema_evolution and not filled:
            name = "whenMatchedUpdateAll" if clause.kind == "matched" else "whenNotMatchedInsertAll"
            raise SchemaMismatchError(
                f"{name}: the source has no column {column.name!r}",
                hint="name the columns to set, or use withSchemaEvolution()",
                condition="DELTA_MERGE_UNRESOLVED_EXPRESSION",
            )


def _bound_clause(scope: BoundColumns, clause: Clause) -> Clause:
    values = {name: _bound(scope, value) for name, value in clause.values.items()}
    return replace(clause, condition=_bound(scope, clause.condition), values=values)


def _bound(scope: BoundColumns, value: Any) -> Any:
    return value if value is None or isinstance(value, str) else scope.translated(value)
