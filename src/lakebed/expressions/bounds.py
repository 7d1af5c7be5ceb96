"""Between which values an expression lies in each file (PROTOCOL: Per-file Statistics)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import EvaluationError
from lakebed.expressions import casting
from lakebed.expressions.evaluator import functions
from lakebed.expressions.evaluator.evaluate import evaluate_batch
from lakebed.expressions.evaluator.masks import Mask
from lakebed.expressions.file_facts import FileColumnsProtocol
from lakebed.expressions.tree import (
    Cast,
    Column,
    Expression,
    Function,
    Literal,
    depends_only_on,
    references,
)
from lakebed.expressions.values import FLOATING, Datum, is_atomic, to_scalar, typed
from lakebed.spec.schema import Path, render_path


@dataclass(frozen=True)
class Bounds:
    """What is known of an expression's values in each file. None is nothing at all.

    `nulls` and `values` say where there may be nulls, and values that are not null. `low` and
    `high` bound the values; null stands for a file without a bound. With `has_nan` there may be NaN
    as well, which Spark takes to be greater than every `high`.
    """

    low: Datum | None = None
    high: Datum | None = None
    nulls: Mask = None
    values: Mask = None
    has_nan: bool = False

    @property
    def top(self) -> Datum | None:
        """What no value exceeds, NaN included."""
        return None if self.has_nan else self.high


class Files:
    """The files that are to be skipped or kept, and what is known about expressions on them."""

    def __init__(self, columns: FileColumnsProtocol, partition_columns: Collection[str]) -> None:
        self.columns = columns
        self.partition_columns = {name.lower() for name in partition_columns}

    def is_exact(self, expression: Expression) -> bool:
        """Whether the expression has one value in each file, which can be computed."""
        return depends_only_on(expression, self.partition_columns)

    def exact(self, expression: Expression) -> Datum:
        """The value in each file of an exact expression; a scalar if it is a constant."""
        if isinstance(expression, Literal):
            return to_scalar(expression)
        names = sorted({path[0] for path in references(expression)})
        if not names:
            return evaluate_batch(expression, pa.record_batch([pa.array([True])], ["row"]))[0]
        partitions = [_one_array(self.columns.partition(name)) for name in names]
        return evaluate_batch(expression, pa.record_batch(partitions, names))

    def bounds(self, expression: Expression) -> Bounds:
        if self.is_exact(expression):
            return self._exact_bounds(expression)
        if isinstance(expression, Column):
            return self._column_bounds(expression)
        if isinstance(expression, Cast):
            return self._cast_bounds(expression)
        if isinstance(expression, Function) and expression.name in functions.MONOTONIC:
            return self._function_bounds(expression)
        return Bounds()

    def _exact_bounds(self, expression: Expression) -> Bounds:
        try:
            values = self.exact(expression)
        except EvaluationError:
            # No file may have a row that asks for this value: leave the error to the rows.
            return Bounds()
        return Bounds(values, values, nulls=pc.is_null(values), values=pc.is_valid(values))

    def _column_bounds(self, column: Column) -> Bounds:
        nulls, rows = self.columns.null_count(column.path), self.columns.num_records()
        known = Bounds(
            nulls=None if nulls is None else pc.greater(nulls, pa.scalar(0, nulls.type)),
            values=None if nulls is None or rows is None else pc.less(nulls, rows),
        )
        if not is_atomic(column.data_type):
            return known
        low = self._bound(column, self.columns.minimum)
        high = self._bound(column, self.columns.maximum)
        return replace(known, low=low, high=high, has_nan=column.data_type in FLOATING)

    def _bound(self, column: Column, read: Callable[[Path], pa.Array | None]) -> Datum | None:
        values = read(column.path)
        if values is None:
            return None
        bound = typed(
            _one_array(values), column.data_type, f"a bound of {render_path(column.path)}"
        )
        if column.data_type not in FLOATING:
            return bound
        # A writer that lets NaN into its bounds has not ordered the values as Spark does.
        return pc.if_else(pc.is_nan(bound), pa.scalar(None, bound.type), bound)

    def _cast_bounds(self, expression: Cast) -> Bounds:
        source, target = expression.operand.data_type, expression.data_type
        if not casting.is_widening(source, target):
            return Bounds()
        return _mapped(
            self.bounds(expression.operand), lambda bound: casting.cast(bound, source, target)
        )

    def _function_bounds(self, expression: Function) -> Bounds:
        index, arguments = functions.MONOTONIC[expression.name], expression.arguments

        def apply(bound: Datum) -> Datum:
            values = [to_scalar(each) if isinstance(each, Literal) else bound for each in arguments]
            return functions.call(expression.name, values, expression.data_type)

        others = (*arguments[:index], *arguments[index + 1 :])
        if not all(isinstance(each, Literal) for each in others):
            return Bounds()
        return _mapped(self.bounds(arguments[index]), apply)


def _mapped(bounds: Bounds, function: Callable[[Datum], Datum]) -> Bounds:
    """The bounds of a function that keeps the order, and null exactly where its argument is."""
    try:
        low = None if bounds.low is None else function(bounds.low)
        high = None if bounds.high is None else function(bounds.high)
    except EvaluationError:
        # A bound need not be the value of a row, and only rows may fail.
        low = high = None
    return replace(bounds, low=low, high=high)


def _one_array(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
