"""The keys of a MERGE by the names in its condition, where Spark does not show its plans.

On Spark Connect the client knows the condition as text or as a message, and the server says which
names the source has. A name that both sides may have is no key.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame

from lakebed.commands.merge.merge_values import target_name
from lakebed.expressions.equalities import Name, equal_names
from lakebed.spark.columns.projection import quote
from lakebed.spark.session.session_kind import functions_of
from lakebed.spec.schema import StructType


@dataclass(frozen=True)
class NamedKeys:
    """`source` is the frame that is joined, `schema` and `alias` are those of the target."""

    source: DataFrame
    schema: StructType
    alias: str

    def find(self, condition: str | Column) -> list[tuple[str, Column]]:
        """Columns of the target, and what they must equal in the source alone."""
        found = []
        for one, other in self._equalities(condition):
            for here, there in ((one, other), (other, one)):
                column = self._target_column(here)
                if column is None or self._may_be_of_target(there):
                    continue
                if self._is_of_source(here) is False and self._is_of_source(there) is True:
                    found.append((column, self._column(there)))
        return found

    def _equalities(self, condition: str | Column) -> list[tuple[Name, Name]]:
        if isinstance(condition, str):
            return equal_names(condition)
        from lakebed.spark.internals.connect.connect_columns import equalities

        return equalities(self.source.sparkSession, condition)

    def _target_column(self, name: Name) -> str | None:
        """The column of the target that a name is, if it is not one of the source."""
        *before, last = name
        if before and [part.lower() for part in before] != [self.alias.lower()]:
            return None
        if before and before[0].lower() in self._target_names:
            # The alias may be a struct as well.
            return None
        return last if last.lower() in self._target_names else None

    def _may_be_of_target(self, name: Name) -> bool:
        first = name[0].lower()
        return first == self.alias.lower() or first in self._target_names

    @property
    def _target_names(self) -> set[str]:
        numbered = {target_name(number) for number in range(len(self.schema))}
        return numbered | {name.lower() for name in self.schema.names}

    def _is_of_source(self, name: Name) -> bool | None:
        """Whether the source has such a column, by Spark's own rules; None if nobody can tell."""
        try:
            _ = self.source.select(self._column(name)).schema
        except AnalysisException as error:
            is_absent = str(error.getCondition()).startswith("UNRESOLVED_COLUMN")
            return False if is_absent else None
        return True

    def _column(self, name: Name) -> Any:
        return functions_of(self.source).col(".".join(map(quote, name)))
