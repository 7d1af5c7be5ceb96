"""The fluent builder of a MERGE, with the names and arguments of delta-spark's.

Also what row changes of all kinds share on their way in and out: the checks of conditions and
values, and the counts of rows as a DataFrame.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, overload

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession

from lakebed.commands.frame_target import FrameTarget
from lakebed.commands.merge.merge_request import Action, Clause, Kind, MergeRequest
from lakebed.commands.merge.merge_rows import merge_rows
from lakebed.errors import ArgumentTypeError, ArgumentValueError

Condition: TypeAlias = str | Column
"""SQL text, or a Column."""
Values: TypeAlias = Mapping[str, str | Column]
"""New values by the names of columns; nested fields as `a.b`, odd names in backquotes."""


@dataclass(frozen=True, repr=False, eq=False)
class DeltaMergeBuilder:
    """A MERGE in the making, from `DeltaTable.merge`. Nothing happens before `execute`.

    Each `when...` adds a clause and returns a new builder. For a row the first clause counts whose
    condition is true; of each of the three kinds, only the last clause may have no condition. Rows
    for which no clause is true stay as they are, and rows of the source are not inserted.

    - whenMatched: a row of the table and a row of the source for which the merge condition is true.
      At most one row of the source may change a row of the table.
    - whenNotMatched: a row of the source without a row in the table. Expressions know the source
      only.
    - whenNotMatchedBySource: a row of the table without a row in the source. Expressions know the
      table only.
    """

    _target: FrameTarget
    _source: DataFrame
    _condition: Condition
    _clauses: tuple[Clause, ...] = ()
    _schema_evolution: bool = False

    @overload
    def whenMatchedUpdate(self, condition: Condition | None, set: Values) -> DeltaMergeBuilder: ...

    @overload
    def whenMatchedUpdate(self, *, set: Values) -> DeltaMergeBuilder: ...

    def whenMatchedUpdate(
        self, condition: Condition | None = None, set: Values | None = None
    ) -> DeltaMergeBuilder:
        """Give columns of a matched row new values; the others keep theirs."""
        call = "whenMatchedUpdate"
        return self._with_update("matched", condition, checked_values(set, "set", call), call)

    def whenMatchedUpdateAll(self, condition: Condition | None = None) -> DeltaMergeBuilder:
        """Give all columns of a matched row the values of the columns of the same names."""
        return self._with("matched", "update_all", condition, "whenMatchedUpdateAll")

    def whenMatchedDelete(self, condition: Condition | None = None) -> DeltaMergeBuilder:
        """Delete a matched row from the table."""
        return self._with("matched", "delete", condition, "whenMatchedDelete")

    @overload
    def whenNotMatchedInsert(self, condition: Condition, values: Values) -> DeltaMergeBuilder: ...

    @overload
    def whenNotMatchedInsert(self, *, values: Values) -> DeltaMergeBuilder: ...

    def whenNotMatchedInsert(
        self, condition: Condition | None = None, values: Values | None = None
    ) -> DeltaMergeBuilder:
        """Insert a row for a row of the source; columns that are not named get their default."""
        call = "whenNotMatchedInsert"
        checked = checked_values(values, "values", call)
        return self._with("not_matched", "insert", condition, call, checked)

    def whenNotMatchedInsertAll(self, condition: Condition | None = None) -> DeltaMergeBuilder:
        """Insert a row of the source as it is, column by column of the same names."""
        return self._with("not_matched", "insert_all", condition, "whenNotMatchedInsertAll")

    @overload
    def whenNotMatchedBySourceUpdate(
        self, condition: Condition | None, set: Values
    ) -> DeltaMergeBuilder: ...

    @overload
    def whenNotMatchedBySourceUpdate(self, *, set: Values) -> DeltaMergeBuilder: ...

    def whenNotMatchedBySourceUpdate(
        self, condition: Condition | None = None, set: Values | None = None
    ) -> DeltaMergeBuilder:
        """Give columns of a row that the source does not have new values."""
        call = "whenNotMatchedBySourceUpdate"
        checked = checked_values(set, "set", call)
        return self._with_update("not_matched_by_source", condition, checked, call)

    def whenNotMatchedBySourceDelete(self, condition: Condition | None = None) -> DeltaMergeBuilder:
        """Delete a row that the source does not have from the table."""
        call = "whenNotMatchedBySourceDelete"
        return self._with("not_matched_by_source", "delete", condition, call)

    def withSchemaEvolution(self) -> DeltaMergeBuilder:
        """Let columns of the source that the table does not have be added to the table."""
        return replace(self, _schema_evolution=True)

    def execute(self) -> DataFrame:
        """Run the MERGE as one commit; one row that counts the rows of the table it changed."""
        request = MergeRequest(
            self._source,
            self._condition,
            self._clauses,
            self._target.alias,
            self._schema_evolution,
        )
        metrics = merge_rows(self._target, request)
        counts = {
            f"num_{what}_rows": metrics.get(f"numTargetRows{what.capitalize()}", 0)
            for what in ("updated", "deleted", "inserted")
        }
        return counts_frame(
            self._target.session, {"num_affected_rows": sum(counts.values()), **counts}
        )

    def __repr__(self) -> str:
        alias = "" if self._target.alias is None else f" AS {self._target.alias}"
        lines = [f"MERGE INTO {self._target.log.store.url}{alias} ON {self._condition}"]
        lines += [f"  {clause}" for clause in self._clauses]
        return "\n".join([*lines, "not run yet: call execute()"])

    def _with_update(
        self, kind: Kind, condition: Condition | None, values: Values, call: str
    ) -> DeltaMergeBuilder:
        """As in delta-spark, an update of no columns is only there to keep rows from others."""
        if not values and condition is None:
            return self
        return self._with(kind, "update", condition, call, values)

    def _with(
        self,
        kind: Kind,
        action: Action,
        condition: Condition | None,
        call: str,
        values: Values | None = None,
    ) -> DeltaMergeBuilder:
        clause = Clause(kind, action, checked_condition(condition, call), values or {})
        return replace(self, _clauses=(*self._clauses, clause))


def checked_condition(condition: Any, call: str) -> Condition | None:
    """A condition as it was given, if it is one; None stands for all rows."""
    if condition is None or isinstance(condition, str | Column):
        return condition
    raise ArgumentTypeError(
        f"the condition of {call} must be a Spark SQL Column or a string, not "
        f"{type(condition).__name__}",
        hint="give SQL text such as \"status = 'open'\", or a Column such as "
        'col("status") == "open"',
    )


def checked_values(values: Any, argument: str, call: str) -> dict[str, str | Column]:
    """A copy of new values by columns, which the user cannot change any more."""
    if values is None:
        raise ArgumentValueError(
            f"{argument} of {call} cannot be None",
            hint=f'name it: {call}({argument}={{"status": "\'open\'"}})',
        )
    if not isinstance(values, Mapping):
        raise ArgumentTypeError(
            f"{argument} of {call} must be a dict, not {type(values).__name__}",
            hint="give a dict of names of columns and their new values",
        )
    for name, value in values.items():
        _check_value(name, value, f"{argument} of {call}")
    return dict(values)


def counts_frame(session: SparkSession, counts: Mapping[str, int]) -> DataFrame:
    """One row of whole numbers. Spark has it in its plan: to show it takes no job."""
    return session.createDataFrame(
        pa.table({name: pa.array([count], pa.int64()) for name, count in counts.items()})
    )


def _check_value(name: Any, value: Any, where: str) -> None:
    if not isinstance(name, str):
        raise ArgumentTypeError(
            f"Keys of dict in {where} must contain only strings: {name!r} is of type "
            f"{type(name).__name__}",
            hint="keys are names of columns",
        )
    if not isinstance(value, str | Column):
        raise ArgumentTypeError(
            f"Values of dict in {where} must contain only Columns and strings: that of {name!r} "
            f"is of type {type(value).__name__}: {value!r}",
            hint='give a Column such as lit(3), or an expression in SQL as text such as "3"',
        )
