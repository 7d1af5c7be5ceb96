"""The source of a MERGE: read once, numbered, and asked which part of the target it can meet."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame

from lakebed.commands.merge.merge_clauses import SOURCE, source_name, target_name
from lakebed.errors import InvalidArgumentError
from lakebed.expressions import And, Compare, Expression, In, Literal
from lakebed.expressions import Column as TableColumn
from lakebed.expressions.equalities import Name, equal_names
from lakebed.log.snapshot import Snapshot
from lakebed.spark.columns.projection import quote
from lakebed.spark.columns.spark_types import incoming_schema
from lakebed.spark.session.session_kind import functions_of, is_connect
from lakebed.spec.schema import (
    BYTE,
    DATE,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    DecimalType,
    StructField,
    StructType,
)


@dataclass(frozen=True)
class Key:
    """A column of the target that must equal a value of the source."""

    field: StructField
    value: Column


class Source:
    """The rows of a source, each with a number in the column `SOURCE`."""

    def __init__(self, frame: DataFrame, *, numbered: bool) -> None:
        self._given = frame
        self._f = functions_of(frame)
        self.schema: StructType = incoming_schema(frame)
        doubled = [n for n in self.schema.names if self.schema.names.count(n) > 1]
        if doubled:
            raise InvalidArgumentError(
                f"the source has more than one column {doubled[0]!r}",
                hint="select or rename its columns first",
            )
        self._numbered = numbered
        self.millis = 0
        """How long it took to store the rows, if they had to be."""

    @cached_property
    def frame(self) -> DataFrame:
        """With the columns a second time, under numbers."""
        f = self._f
        rows = self._rows
        copies = {
            source_name(number): f.col(quote(name)) for number, name in enumerate(self.schema.names)
        }
        return rows.withColumns(copies)

    @cached_property
    def _rows(self) -> DataFrame:
        """Stored, unless it is certain that they are the same each time they are asked for."""
        rows = self._given.withColumn(SOURCE, self._f.monotonically_increasing_id())
        if not self._numbered and not is_connect(self._given):
            from lakebed.spark.internals.plans import is_stable

            if is_stable(self._given):
                return rows
        started = time.monotonic()
        stored = rows.localCheckpoint()
        self.millis = int((time.monotonic() - started) * 1000)
        return stored

    def look(self, keys: Sequence[Key], snapshot: Snapshot) -> Look:
        """One pass over the source: how many rows, and which values of the keys."""
        f = self._f
        usable = [key for key in keys if _has_order(key.field.data_type)]
        asked = [f.count(f.lit(1)).alias("rows")]
        for number, key in enumerate(usable):
            asked += [
                f.min(key.value).alias(f"min{number}"),
                f.max(key.value).alias(f"max{number}"),
            ]
        found = self.frame.agg(*asked).toArrow()
        num_rows = found.column("rows")[0].as_py()
        if usable and num_rows <= _MOST_VALUES:
            return Look(num_rows, _conjunction(self._values(usable)))
        partitions = {name.lower() for name in snapshot.partition_columns}
        tests: list[Expression] = []
        for number, key in enumerate(usable):
            bounds = [found.column(f"{end}{number}")[0] for end in ("min", "max")]
            if key.field.name.lower() in partitions:
                tests += self._one_of(key)
            tests += _between(key.field, bounds)
        return Look(num_rows, _conjunction(tests))

    def _values(self, keys: Sequence[Key]) -> list[Expression]:
        """A source of few rows says all values of its keys: they meet less than their bounds."""
        named = [key.value.alias(f"v{number}") for number, key in enumerate(keys)]
        table = self.frame.select(*named).toArrow()
        return [
            test
            for number, key in enumerate(keys)
            for test in _among(key, table.column(f"v{number}").unique())
        ]

    def _one_of(self, key: Key) -> list[Expression]:
        """The partitions that the source is about, unless they are very many."""
        distinct = self.frame.select(key.value.alias("v")).distinct().limit(_MOST_VALUES + 1)
        values = distinct.toArrow().column("v")
        return [] if len(values) > _MOST_VALUES else _among(key, values)


@dataclass(frozen=True)
class Look:
    """`predicate` is true for every row of the target that the source can match."""

    num_rows: int
    predicate: Expression | None


def _conjunction(tests: Sequence[Expression]) -> Expression | None:
    if not tests:
        return None
    return tests[0] if len(tests) == 1 else And(tuple(tests))


def _among(key: Key, values: Iterable[pa.Scalar]) -> list[Expression]:
    literals = tuple(_literal(each, key.field.data_type) for each in values if each.is_valid)
    if not literals:
        return []
    return [In(TableColumn((key.field.name,), key.field.data_type), literals)]


def _between(field: StructField, bounds: Sequence[pa.Scalar]) -> list[Expression]:
    low, high = bounds
    if not low.is_valid or not high.is_valid:
        return []
    column = TableColumn((field.name,), field.data_type)
    return [
        Compare(">=", column, _literal(low, field.data_type)),
        Compare("<=", column, _literal(high, field.data_type)),
    ]


def _literal(value: pa.Scalar, data_type: DataType) -> Literal:
    """Dates are days and timestamps microseconds, as in literals of predicates."""
    if pa.types.is_timestamp(value.type):
        value = value.cast(pa.timestamp("us", tz=value.type.tz))
    is_temporal = pa.types.is_temporal(value.type)
    return Literal(value.value if is_temporal else value.as_py(), data_type)


def _has_order(data_type: DataType) -> bool:
    """Types whose order is that of the statistics; NaN has no place in it."""
    return data_type in _ORDERED or isinstance(data_type, DecimalType)


_ORDERED = (BYTE, SHORT, INTEGER, LONG, STRING, DATE, TIMESTAMP, TIMESTAMP_NTZ)
_MOST_VALUES = 1000


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
