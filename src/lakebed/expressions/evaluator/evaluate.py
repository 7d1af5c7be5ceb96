"""The value of an expression in every row, as Spark computes it in ANSI mode with UTC clocks."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import EvaluationError
from lakebed.expressions import casting
from lakebed.expressions.evaluator import arithmetic, comparison, functions
from lakebed.expressions.tree import (
    And,
    Arithmetic,
    Case,
    Cast,
    Coalesce,
    Column,
    Compare,
    Expression,
    Function,
    In,
    IsNotNull,
    IsNull,
    Like,
    Literal,
    Negate,
    Not,
    Or,
    StartsWith,
    references,
    walk,
)
from lakebed.expressions.values import Datum, arrow_type, is_atomic, to_scalar, typed
from lakebed.spec.schema import DataType, Path, render_path


def evaluate(expression: Expression, rows: pa.Table | pa.RecordBatch) -> pa.ChunkedArray:
    """One value per row; for a predicate true, false or null. Columns have logical names.

    AND, OR, CASE and COALESCE look at an operand only in rows that need it, so that a condition can
    guard what follows it: `b <> 0 AND a / b > 1` never divides by zero.
    """
    values = [evaluate_batch(expression, batch) for batch in _batches(expression, rows)]
    return pa.chunked_array(values, arrow_type(expression.data_type))


def evaluate_batch(expression: Expression, batch: pa.RecordBatch) -> pa.Array:
    """The same for one batch, as one array."""
    return _array(_value(expression, batch), batch.num_rows, expression.data_type)


_MOST_ROWS = 1 << 20
_FEW_ROWS = 1 << 13


def _batches(expression: Expression, rows: pa.Table | pa.RecordBatch) -> list[pa.RecordBatch]:
    names = sorted({path[0] for path in references(expression)} & set(rows.schema.names))
    if not names:
        # A batch without columns forgets how many rows it has.
        counter = pa.nulls(rows.num_rows, pa.bool_())
        return [pa.record_batch([counter], ["rows"])]
    table = pa.Table.from_batches([rows]) if isinstance(rows, pa.RecordBatch) else rows
    table = table.select(names)
    chunks = max((column.num_chunks for column in table.columns), default=0)
    if chunks * _FEW_ROWS > table.num_rows:
        table = table.combine_chunks()
    return list(table.to_batches(max_chunksize=_MOST_ROWS))


def _value(expression: Expression, batch: pa.RecordBatch) -> Datum:
    evaluator = _EVALUATORS.get(type(expression))
    if evaluator is None:
        raise EvaluationError(
            f"{expression!r} cannot be evaluated", hint="Such expressions are only for skipping."
        )
    return evaluator(expression, batch)


# --- columns and constants ---------------------------------------------------------------------


def _column(expression: Column, batch: pa.RecordBatch) -> Datum:
    values = _field(expression.path, batch)
    if not is_atomic(expression.data_type):
        return values
    return typed(values, expression.data_type, f"column {render_path(expression.path)}")


def _field(path: Path, batch: pa.RecordBatch) -> pa.Array:
    position = batch.schema.get_field_index(path[0])
    if position < 0:
        raise EvaluationError(f"the rows have no column {render_path(path[:1])}")
    values = batch.column(position)
    for depth, name in enumerate(path[1:], start=1):
        if not pa.types.is_struct(values.type) or values.type.get_field_index(name) < 0:
            raise EvaluationError(f"the rows have no column {render_path(path[: depth + 1])}")
        values = pc.struct_field(values, values.type.get_field_index(name))
    return values


def _literal(expression: Literal, _: pa.RecordBatch) -> Datum:
    return to_scalar(expression)


# --- conditions --------------------------------------------------------------------------------


def _compare(expression: Compare, batch: pa.RecordBatch) -> Datum:
    left, right = _value(expression.left, batch), _value(expression.right, batch)
    return comparison.compare(expression.operator, left, right)


def _and(expression: And, batch: pa.RecordBatch) -> Datum:
    return _connected(expression.operands, pc.and_kleene, False, batch)


def _or(expression: Or, batch: pa.RecordBatch) -> Datum:
    return _connected(expression.operands, pc.or_kleene, True, batch)


def _connected(
    operands: tuple[Expression, ...],
    connect: Callable[[Datum, Datum], Datum],
    decisive: bool,
    batch: pa.RecordBatch,
) -> Datum:
    result = _value(operands[0], batch)
    for operand in operands[1:]:
        if can_fail(operand):
            undecided = pc.fill_null(pc.not_equal(result, pa.scalar(decisive)), True)
            result = connect(result, _lazy(operand, undecided, batch))
        else:
            result = connect(result, _value(operand, batch))
    return result


def _not(expression: Not, batch: pa.RecordBatch) -> Datum:
    return pc.invert(_value(expression.operand, batch))


def _in(expression: In, batch: pa.RecordBatch) -> Datum:
    options, data_type = expression.options, expression.operand.data_type
    values = _value(expression.operand, batch)
    if all(isinstance(each, Literal) for each in options):
        value_set = pa.array([each.value for each in options], arrow_type(data_type))  # type: ignore[attr-defined]
        array = _array(values, batch.num_rows, data_type)
        return comparison.is_in(array, value_set)
    matches = [comparison.compare("=", values, _value(each, batch)) for each in options]
    return reduce(pc.or_kleene, matches)


def _is_null(expression: IsNull, batch: pa.RecordBatch) -> Datum:
    return pc.is_null(_value(expression.operand, batch))


def _is_not_null(expression: IsNotNull, batch: pa.RecordBatch) -> Datum:
    return pc.is_valid(_value(expression.operand, batch))


def _like(expression: Like, batch: pa.RecordBatch) -> Datum:
    values = _value(expression.operand, batch)
    return comparison.like(values, expression.pattern, expression.escape)


def _starts_with(expression: StartsWith, batch: pa.RecordBatch) -> Datum:
    return pc.starts_with(_value(expression.operand, batch), pattern=expression.prefix)


# --- other values ------------------------------------------------------------------------------


def _cast(expression: Cast, batch: pa.RecordBatch) -> Datum:
    values = _value(expression.operand, batch)
    return casting.cast(values, expression.operand.data_type, expression.data_type)


def _arithmetic(expression: Arithmetic, batch: pa.RecordBatch) -> Datum:
    left, right = _value(expression.left, batch), _value(expression.right, batch)
    return arithmetic.calculate(expression.operator, left, right, expression.data_type)


def _negate(expression: Negate, batch: pa.RecordBatch) -> Datum:
    return arithmetic.negate(_value(expression.operand, batch), expression.data_type)


def _function(expression: Function, batch: pa.RecordBatch) -> Datum:
    arguments = [_value(each, batch) for each in expression.arguments]
    return functions.call(expression.name, arguments, expression.data_type)


def _case(expression: Case, batch: pa.RecordBatch) -> Datum:
    rows, data_type = batch.num_rows, expression.data_type
    result = pa.nulls(rows, arrow_type(data_type))
    waiting = pa.repeat(pa.scalar(True), rows)
    for condition, value in expression.branches:
        met = pc.fill_null(_lazy(condition, waiting, batch), False)
        chosen = _array(pc.and_(met, waiting), rows, condition.data_type)
        result = pc.if_else(chosen, _lazy(value, chosen, batch), result)
        waiting = pc.and_(waiting, pc.invert(chosen))
    if expression.otherwise is None:
        return result
    return pc.if_else(waiting, _lazy(expression.otherwise, waiting, batch), result)


def _coalesce(expression: Coalesce, batch: pa.RecordBatch) -> Datum:
    result = _array(_value(expression.operands[0], batch), batch.num_rows, expression.data_type)
    for operand in expression.operands[1:]:
        result = pc.coalesce(result, _lazy(operand, pc.is_null(result), batch))
    return result


_EVALUATORS: dict[type[Expression], Callable[[Any, pa.RecordBatch], Datum]] = {
    Column: _column,
    Literal: _literal,
    Compare: _compare,
    And: _and,
    Or: _or,
    Not: _not,
    In: _in,
    IsNull: _is_null,
    IsNotNull: _is_not_null,
    Like: _like,
    StartsWith: _starts_with,
    Cast: _cast,
    Arithmetic: _arithmetic,
    Negate: _negate,
    Function: _function,
    Case: _case,
    Coalesce: _coalesce,
}


# --- rows that need no value -------------------------------------------------------------------


def _lazy(expression: Expression, needed: Datum, batch: pa.RecordBatch) -> Datum:
    """The values in the rows where they are needed. Elsewhere they are anything, or null."""
    if not can_fail(expression):
        return _value(expression, batch)
    needed = _array(needed, batch.num_rows, None)
    if pc.all(needed, min_count=0).as_py():
        return _value(expression, batch)
    values = evaluate_batch(expression, batch.filter(needed))
    return pc.replace_with_mask(pa.nulls(batch.num_rows, values.type), needed, values)


def can_fail(expression: Expression) -> bool:
    """Whether there are rows for which the expression has no value but an error."""
    return any(_node_can_fail(node) for node in walk(expression))


def _node_can_fail(node: Expression) -> bool:
    if isinstance(node, Cast):
        return not casting.never_fails(node.operand.data_type, node.data_type)
    if isinstance(node, Function):
        return node.name in functions.FALLIBLE
    return isinstance(node, Arithmetic | Negate)


def _array(values: Datum, rows: int, data_type: DataType | None) -> pa.Array:
    if not isinstance(values, pa.Scalar):
        return values
    array = pa.repeat(values, rows)
    return array if data_type is None else pc.cast(array, arrow_type(data_type))
