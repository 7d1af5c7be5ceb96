"""The clauses of a MERGE on rows of Arrow: which clause applies, and the values it gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.commands.merge.arrow.merge_source import (
    PREFIX,
    MergeJoin,
    SourceRows,
    names_of,
    scopes,
)
from lakebed.commands.merge.clause_columns import ClauseColumns
from lakebed.commands.merge.merge_request import INSERTS, UPDATES, Kind, MergeRequest
from lakebed.commands.rows.arrow.new_values import NewValues, bound_values, check_evaluable
from lakebed.commands.rows.arrow.table_changes import NewRows
from lakebed.expressions import Case, Column, Expression, Literal, Sides, evaluate, parse_predicate
from lakebed.formats.arrow_cast import cast_table
from lakebed.spec.schema import INTEGER, StructType


@dataclass(frozen=True)
class Clauses:
    """`schema` is that of the table after the command, `table` the one that it has now."""

    request: MergeRequest
    schema: StructType
    table: StructType
    source: SourceRows
    _values: dict[int, NewValues] = field(default_factory=dict, repr=False)

    @cached_property
    def join(self) -> MergeJoin:
        return MergeJoin.of(self.request.condition, self._sides, self.source)

    def check(self) -> None:
        """Reads all expressions, so that nothing has been done when one of them is refused."""
        for number, clause in enumerate(self.request.clauses):
            _ = self.action(clause.kind)
            if clause.action in (*UPDATES, *INSERTS):
                self._new_values(number)

    def action(self, kind: Kind) -> Expression | None:
        """The number of the first clause whose condition is true; None if there is no clause."""
        branches = [
            (self._condition(number), Literal(number, INTEGER))
            for number, clause in enumerate(self.request.clauses)
            if clause.kind == kind
        ]
        return Case(tuple(branches), None, INTEGER) if branches else None

    def target_columns(self) -> set[str]:
        """Those of the table, in lower case, that decide what happens to its rows."""
        kinds: tuple[Kind, ...] = ("matched", "not_matched_by_source")
        actions = [action for action in map(self.action, kinds) if action is not None]
        names = {name for each in actions for name in names_of(each)}
        own = {name.lower() for name in names if not name.startswith(PREFIX)}
        return own | self.join.target_columns

    def update_columns(self) -> set[str]:
        """Those of the table, in lower case, that go into updated rows."""
        found: set[str] = set()
        for number in self.request.numbers(*UPDATES):
            values = self._new_values(number)
            assigned = {each.path[0] for each in values.values}
            kept = set(self._columns.given(number).names) - assigned
            found |= {name.lower() for name in kept} | values.kept_columns()
        return {name for name in found if not name.startswith(PREFIX)}

    def updated(self, number: int, rows: pa.Table, matches: pa.Array | None) -> pa.Table:
        """Rows of the table after an update; `matches` are the places of their matches."""
        current = cast_table(rows, self.schema)
        both = self._beside(rows, matches)
        return self._result(number, both, current)

    def inserted(self, unmatched: pa.Array) -> list[NewRows]:
        """The new rows for rows of the source, by their places."""
        action = self.action("not_matched")
        if action is None or not len(unmatched):
            return []
        rows = self.source.some(unmatched)
        chosen = evaluate(action, rows)
        found = []
        for number in self.request.numbers(*INSERTS):
            some = rows.filter(pc.fill_null(pc.equal(chosen, number), False))
            if some.num_rows:
                found.append(NewRows(self._result(number, some, None)))
        return found

    def _result(self, number: int, rows: pa.Table, current: pa.Table | None) -> pa.Table:
        changed = self._new_values(number).of(rows, current)
        given = self._columns.given(number)
        columns = [
            changed[each.name] if each.name in changed else current.column(each.name)  # type: ignore[union-attr]
            for each in given.fields
        ]
        return pa.table(columns, names=list(given.names))

    def _beside(self, rows: pa.Table, matches: pa.Array | None) -> pa.Table:
        if matches is None:
            return rows
        other = self.source.some(matches)
        return pa.table(
            [*rows.columns, *other.columns], names=[*rows.column_names, *other.column_names]
        )

    # --- expressions ---

    @cached_property
    def _columns(self) -> ClauseColumns:
        fields = self.source.schema.fields
        return ClauseColumns(
            self.request,
            self.schema,
            self.source.schema,
            lambda place: Column((PREFIX + fields[place].name,), fields[place].data_type),
        )

    def _condition(self, number: int) -> Expression:
        clause = self.request.clauses[number]
        if clause.condition is None:
            return _TRUE
        found = parse_predicate(clause.condition, self._scope(clause.kind))
        check_evaluable(found, clause.condition)
        return found

    def _new_values(self, number: int) -> NewValues:
        if number not in self._values:
            clause = self.request.clauses[number]
            evolves = self.request.schema_evolution
            scope = self._scope(clause.kind)
            values = bound_values(self._columns.assignments(number), scope, fills=evolves)
            keeps = evolves and clause.action == "update_all"
            self._values[number] = NewValues(self.schema, values, evolves, keeps)
        return self._values[number]

    def _scope(self, kind: Kind) -> Sides:
        """What expressions of a clause may name."""
        own, other = self._sides.sides
        chosen: Sequence = {  # type: ignore[type-arg]
            "matched": (own, other),
            "not_matched": (other,),
            "not_matched_by_source": (own,),
        }[kind]
        return Sides(tuple(chosen))

    @cached_property
    def _sides(self) -> Sides:
        request = self.request
        return scopes(self.table, request.target_alias, self.source.schema, request.source_alias)


_TRUE = Literal(True, data_type=parse_predicate("true", StructType(())).data_type)
