"""What a MERGE is asked to do: a source, a condition, and clauses in the order of the user.

The rules that need no data are checked here, for the Python API and for SQL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from lakebed.commands.rows.assignments import name_parts
from lakebed.errors import InvalidArgumentError
from lakebed.spec.schema import StructType

Kind = Literal["matched", "not_matched", "not_matched_by_source"]
Action = Literal["update", "update_all", "delete", "insert", "insert_all"]
UPDATES: tuple[Action, ...] = ("update", "update_all")
INSERTS: tuple[Action, ...] = ("insert", "insert_all")


@dataclass(frozen=True)
class Clause:
    """One WHEN: for rows of a kind, if the condition is true, an action.

    `values` are the new values of an update or insert, by the names of the target's columns.
    """

    kind: Kind
    action: Action
    condition: Any = None
    """SQL text, or on Spark a Column."""
    values: Mapping[str, Any] = field(default_factory=dict)
    excluded: tuple[str, ...] = ()
    """Columns that an update or insert of all columns leaves alone."""

    def __post_init__(self) -> None:
        allowed = _ACTIONS.get(self.kind)
        if allowed is None:
            raise InvalidArgumentError(
                f"a MERGE has no clause of the kind {self.kind!r}",
                hint=f"the kinds are {', '.join(_ACTIONS)}",
            )
        if self.action not in allowed:
            raise InvalidArgumentError(
                f"{_name(self.kind)} cannot {_verb(self.action)}: {_REASONS[self.kind]}",
                hint=f"its actions are {', '.join(map(_verb, allowed))}",
            )
        if self.values and self.action not in ("update", "insert"):
            raise InvalidArgumentError(
                f"{_name(self.kind)} THEN {_verb(self.action)} takes no values of columns",
                hint="leave them out, or use an update or insert that lists its columns",
            )

    def __str__(self) -> str:
        condition = "" if self.condition is None else f" AND {self.condition}"
        return f"{_name(self.kind)}{condition} THEN {_verb(self.action)}"


@dataclass(frozen=True)
class MergeRequest:
    """`target_alias` is the name by which expressions may call the table."""

    source: Any
    """A DataFrame on Spark, a `SourceRows` without it."""
    condition: Any
    clauses: tuple[Clause, ...]
    target_alias: str | None = None
    schema_evolution: bool = False
    source_alias: str | None = None
    """The name of the source, where it does not know it itself."""

    def __post_init__(self) -> None:
        if not self.clauses:
            raise InvalidArgumentError(
                "a MERGE without a WHEN clause does nothing",
                hint="add at least one, such as whenMatchedUpdateAll() or "
                "whenNotMatchedInsertAll()",
                condition="DELTA_MERGE_MISSING_WHEN",
            )
        for kind in _ACTIONS:
            self._check_reachable([each for each in self.clauses if each.kind == kind])

    def has(self, kind: Kind) -> bool:
        return any(clause.kind == kind for clause in self.clauses)

    def numbers(self, *actions: Action) -> list[int]:
        """The numbers of the clauses with one of these actions."""
        found = enumerate(self.clauses)
        return [number for number, clause in found if clause.action in actions]

    @property
    def only_deletes_matches(self) -> bool:
        """A row that is deleted twice is deleted: it does not matter by which row."""
        matched = [clause for clause in self.clauses if clause.kind == "matched"]
        return len(matched) == 1 and matched[0].action == "delete" and matched[0].condition is None

    def _check_reachable(self, clauses: list[Clause]) -> None:
        """A clause takes all rows that it is true for: one without a condition leaves none."""
        for place, clause in enumerate(clauses[:-1], start=1):
            if clause.condition is None:
                raise InvalidArgumentError(
                    f"of the {len(clauses)} {_name(clause.kind)} clauses, number {place} has no "
                    "condition; only the last one may omit the condition, because no row gets "
                    "beyond it",
                    hint="give it a condition, or put it behind the others",
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
    found = _assigned(source, (), paths, takes_all)
    left_out = _excluded(clauses) - {path[0] for path in paths}
    return StructType(tuple(each for each in found.fields if each.name.lower() not in left_out))


_ACTIONS: Mapping[str, tuple[Action, ...]] = {
    "matched": ("update", "update_all", "delete"),
    "not_matched": ("insert", "insert_all"),
    "not_matched_by_source": ("update", "delete"),
}
_REASONS = {
    "matched": "the row is in the table already",
    "not_matched": "the table has no such row",
    "not_matched_by_source": "there is no row of the source to take values from",
}
_VERBS = {"update_all": "UPDATE *", "insert_all": "INSERT *"}


def _name(kind: str) -> str:
    return f"WHEN {kind.replace('_', ' ').upper()}"


def _verb(action: str) -> str:
    return _VERBS.get(action, str(action).upper())


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


def _excluded(clauses: Sequence[Clause]) -> set[str]:
    """The columns that no clause takes of all that the source has."""
    found = [
        {name.lower() for name in each.excluded}
        for each in clauses
        if each.action in ("update_all", "insert_all")
    ]
    return set.intersection(*found) if found else set()
