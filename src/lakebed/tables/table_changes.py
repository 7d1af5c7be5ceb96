"""`Changed` and `TableMerger`: what changes of rows give back, and a MERGE in the making.

The names of the clauses are delta-rs's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

import pyarrow as pa

from lakebed.commands.merge.merge_request import Action, Clause, Kind, MergeRequest
from lakebed.commands.merge.merge_rows import merge_rows
from lakebed.commands.rows.arrow.new_values import Constant
from lakebed.commands.table_target import TableTarget
from lakebed.errors import ArgumentTypeError, InvalidArgumentError

T = TypeVar("T")
"""The table itself, whose module is above this one."""


@dataclass(frozen=True)
class Changed(Generic[T]):
    """What a change of rows did. `metrics` are those of the history, if anything was committed."""

    table: T = field(repr=False)
    """The table after the change."""
    num_updated_rows: int = 0
    num_deleted_rows: int | None = 0
    """None where whole files went whose rows were never counted."""
    num_inserted_rows: int = 0
    metrics: Mapping[str, int] = field(default_factory=dict, repr=False)

    @property
    def num_affected_rows(self) -> int | None:
        if self.num_deleted_rows is None:
            return None
        return self.num_updated_rows + self.num_deleted_rows + self.num_inserted_rows


@dataclass(frozen=True)
class Arranged(Generic[T]):
    """What OPTIMIZE did."""

    table: T = field(repr=False)
    """The table after it."""
    num_files_added: int
    num_files_removed: int
    num_bytes_added: int
    num_bytes_removed: int


@dataclass(frozen=True, repr=False, eq=False)
class TableMerger(Generic[T]):
    """A MERGE in the making, from `Table.merge`. Nothing happens before `execute`.

    Each `when_...` adds a clause and returns a new merger. For a row the first clause counts whose
    predicate is true; of each of the three kinds, only the last clause may have no predicate.
    """

    _target: TableTarget
    _source: Callable[[], pa.Table]
    _predicate: str
    _source_alias: str | None
    _finish: Callable[[dict[str, int]], T]
    _schema_evolution: bool = False
    _clauses: tuple[Clause, ...] = ()

    def when_matched_update(
        self, updates: Mapping[str, str], predicate: str | None = None
    ) -> TableMerger[T]:
        """Give columns of a matched row new values; the others keep theirs."""
        values = checked_values(updates, "updates", "when_matched_update")
        return self._with("matched", "update", predicate, values)

    def when_matched_update_all(
        self, predicate: str | None = None, except_cols: Sequence[str] | None = None
    ) -> TableMerger[T]:
        """Give all columns of a matched row the values of the columns of the same names."""
        return self._with("matched", "update_all", predicate, excluded=except_cols)

    def when_matched_delete(self, predicate: str | None = None) -> TableMerger[T]:
        """Delete a matched row from the table."""
        return self._with("matched", "delete", predicate)

    def when_not_matched_insert(
        self, updates: Mapping[str, str], predicate: str | None = None
    ) -> TableMerger[T]:
        """Insert a row for a row of the source; columns that are not named get their default."""
        values = checked_values(updates, "updates", "when_not_matched_insert")
        return self._with("not_matched", "insert", predicate, values)

    def when_not_matched_insert_all(
        self, predicate: str | None = None, except_cols: Sequence[str] | None = None
    ) -> TableMerger[T]:
        """Insert a row of the source as it is, column by column of the same names."""
        return self._with("not_matched", "insert_all", predicate, excluded=except_cols)

    def when_not_matched_by_source_update(
        self, updates: Mapping[str, str], predicate: str | None = None
    ) -> TableMerger[T]:
        """Give columns of a row that the source does not have new values."""
        values = checked_values(updates, "updates", "when_not_matched_by_source_update")
        return self._with("not_matched_by_source", "update", predicate, values)

    def when_not_matched_by_source_delete(self, predicate: str | None = None) -> TableMerger[T]:
        """Delete a row that the source does not have from the table."""
        return self._with("not_matched_by_source", "delete", predicate)

    def execute(self) -> Changed[T]:
        """Run the MERGE as one commit."""
        request = MergeRequest(
            self._source(),
            self._predicate,
            self._clauses,
            self._target.alias,
            self._schema_evolution,
            self._source_alias,
        )
        metrics = merge_rows(self._target, request)
        updated, deleted, inserted = (
            metrics[f"numTargetRows{name}"] for name in ("Updated", "Deleted", "Inserted")
        )
        return Changed(self._finish(metrics), updated, deleted, inserted, metrics)

    def __repr__(self) -> str:
        alias = "" if self._target.alias is None else f" AS {self._target.alias}"
        lines = [f"MERGE INTO {self._target.log.store.url}{alias} ON {self._predicate}"]
        lines += [f"  {clause}" for clause in self._clauses]
        return "\n".join([*lines, "not run yet: call execute()"])

    def _with(
        self,
        kind: Kind,
        action: Action,
        predicate: str | None,
        values: Mapping[str, Any] | None = None,
        excluded: Sequence[str] | None = None,
    ) -> TableMerger[T]:
        if isinstance(excluded, str):
            raise ArgumentTypeError(
                f"except_cols={excluded!r} is not a list", hint="give a list of column names"
            )
        checked = checked_predicate(predicate)
        clause = Clause(kind, action, checked, values or {}, tuple(excluded or ()))
        return replace(self, _clauses=(*self._clauses, clause))


def checked_predicate(predicate: Any) -> str | None:
    if predicate is None or isinstance(predicate, str):
        return predicate
    raise ArgumentTypeError(
        f"{predicate!r} is not a SQL predicate", hint="give a text such as 'id > 3'"
    )


def checked_values(given: Any, argument: str, call: str) -> dict[str, str]:
    """A copy of SQL expressions by columns."""
    if not isinstance(given, Mapping) or not given:
        raise InvalidArgumentError(
            f"{argument}={given!r} of {call} gives no column a value",
            hint=f"give for example {argument}={{'price': 'price * 2'}}",
        )
    for name, value in given.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise ArgumentTypeError(
                f"{name!r}: {value!r} in {argument} of {call} are no column and expression",
                hint="both are text: {'status': \"'open'\", 'amount': 'amount + 1'}",
            )
    return dict(given)


def constants(given: Any) -> dict[str, Constant]:
    """Python values by columns."""
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise ArgumentTypeError(
            f"new_values={given!r} gives no column a value",
            hint="give for example new_values={'status': 'open'}",
        )
    return {name: Constant(value) for name, value in given.items()}
