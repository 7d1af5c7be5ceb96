"""Which columns the clauses of a MERGE give values to, and which values, on any data plane."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lakebed.commands.merge.merge_request import UPDATES, Clause, MergeRequest
from lakebed.commands.rows.assignments import (
    Assignment,
    assignments,
    check_identity,
    is_generated,
)
from lakebed.errors import InvalidArgumentError, SchemaMismatchError
from lakebed.spec.columns.column_metadata import current_default, identity
from lakebed.spec.schema import StructField, StructType


@dataclass(frozen=True)
class ClauseColumns:
    """`schema` is that of the table after the command. `from_source` gives the value of a column of
    the source by its place.
    """

    request: MergeRequest
    schema: StructType
    source: StructType
    from_source: Callable[[int], Any]

    def given(self, number: int) -> StructType:
        """The columns that a clause gives values for; the table fills the others."""
        clause = self.request.clauses[number]
        assigned = {each.path[0] for each in self._assignments(clause)}
        keeps = clause.action in UPDATES
        fields = (
            field
            for field in self.schema.fields
            if field.name in assigned or (keeps and not is_generated(field))
        )
        return StructType(tuple(fields))

    def assignments(self, number: int) -> list[Assignment]:
        clause = self.request.clauses[number]
        given = self._assignments(clause)
        if clause.action == "update":
            check_identity(given, self.schema)
        return given

    def _assignments(self, clause: Clause) -> list[Assignment]:
        alias = self.request.target_alias
        return assignments(self._pairs(clause), self.schema, () if alias is None else (alias,))

    def _pairs(self, clause: Clause) -> Mapping[str, Any]:
        if clause.action in ("update", "insert"):
            return clause.values
        return self._all_pairs(clause)

    def _all_pairs(self, clause: Clause) -> dict[str, Any]:
        """Every column from the one of the same name in the source."""
        pairs: dict[str, Any] = {}
        excluded = {name.lower() for name in clause.excluded}
        for column in self.schema.fields:
            if column.name.lower() in excluded:
                continue
            source = self.source.find(column.name)
            if source is None:
                self._check_absent(column, clause)
                continue
            marks = identity(column)
            if marks is not None and clause.action == "update_all":
                continue
            place = list(self.source.names).index(source.name)
            pairs[_quoted(column.name)] = self.from_source(place)
        if not pairs:
            raise InvalidArgumentError("the source has no column of the table")
        return pairs

    def _check_absent(self, column: StructField, clause: Clause) -> None:
        filled = is_generated(column) or identity(column) is not None
        filled = filled or current_default(column) is not None
        if not self.request.schema_evolution and not filled:
            raise SchemaMismatchError(
                f"{clause}: the source has no column {column.name!r}",
                hint="name the columns to set, or let the schema evolve: withSchemaEvolution() on "
                "Spark, merge_schema=True without it",
                condition="DELTA_MERGE_UNRESOLVED_EXPRESSION",
            )


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
