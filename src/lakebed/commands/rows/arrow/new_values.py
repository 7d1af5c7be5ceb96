"""New values of columns as Arrow arrays: the twin on Spark makes Columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.arrow.write.type_conversion import TypeConversion, struct_array
from lakebed.commands.rows.assignments import Assignment
from lakebed.errors import EvaluationError, InvalidArgumentError, PredicateError
from lakebed.expressions import (
    Column,
    Expression,
    IsNotNull,
    IsNull,
    MakeStruct,
    Sides,
    parse_expression,
    references,
)
from lakebed.expressions.evaluator.evaluate import evaluate
from lakebed.expressions.tree import walk
from lakebed.expressions.values import is_atomic
from lakebed.formats.arrow_types import to_arrow_type
from lakebed.spec.schema import DataType, Path, StructType, render_path


@dataclass(frozen=True)
class Constant:
    """A Python value, as the value of a column."""

    value: Any


@dataclass(frozen=True)
class BoundValue:
    """What a column, or a field in it, is set to: an expression of any type, or a constant."""

    path: Path
    data_type: DataType
    value: Expression | pa.Scalar


@dataclass(frozen=True)
class NewValues:
    """New values of columns of a schema. `fills` and `keeps_fields` are those of the twin."""

    schema: StructType
    values: Sequence[BoundValue]
    fills: bool = False
    keeps_fields: bool = False

    def kept_columns(self) -> set[str]:
        """The columns, in lower case, whose values now go into the new ones."""
        named = {path for each in self.values for path in _references(each.value)}
        nested = {e.path for e in self.values if len(e.path) > 1 or self.keeps_fields}
        return {path[0].lower() for path in named | nested}

    def of(self, rows: pa.Table, current: pa.Table | None) -> dict[str, pa.ChunkedArray]:
        """The columns with a new value. `rows` are what expressions are about; `current` has the
        columns as they are now, if there is something to keep.
        """
        found = {each.path: self._value(each, rows, current) for each in self.values}
        changed = {path[0] for path in found}
        return {
            field.name: pa.chunked_array(
                [_rebuilt((field.name,), field.data_type, _array(current, field.name), found, rows)]
            )
            for field in self.schema.fields
            if field.name in changed
        }

    def _value(self, bound: BoundValue, rows: pa.Table, current: pa.Table | None) -> pa.Array:
        if isinstance(bound.value, pa.Scalar):
            return pa.repeat(bound.value, rows.num_rows)
        old = None
        if self.keeps_fields and len(bound.path) == 1:
            old = _array(current, bound.path[0])
        values = evaluated(bound.value, rows)
        conversion = TypeConversion(self.fills)
        try:
            return conversion.converted(values, bound.value.data_type, bound.data_type, old)
        except EvaluationError as error:
            raise EvaluationError(
                f"the value for {render_path(bound.path)}: {error.message}", hint=error.hint
            ) from error


def bound_values(
    given: Sequence[Assignment], scope: StructType | Sides, *, fills: bool = False
) -> list[BoundValue]:
    """The values as Lakebed reads them; refuses what it cannot compute as Spark does."""
    return [_bound(each, scope, TypeConversion(fills)) for each in given]


def _bound(given: Assignment, scope: StructType | Sides, conversion: TypeConversion) -> BoundValue:
    if isinstance(given.value, Constant):
        return BoundValue(given.path, given.data_type, _scalar(given))
    value = given.value
    expression = value if isinstance(value, Expression) else parse_expression(value, scope)
    check_evaluable(expression, str(value))
    conversion.check(expression.data_type, given.data_type, given.path)
    return BoundValue(given.path, given.data_type, expression)


def check_evaluable(expression: Expression, text: str) -> None:
    """Refuses computing with structs, arrays and maps, of which only columns are known."""
    if isinstance(expression, Column):
        return
    if isinstance(expression, MakeStruct):
        for operand in expression.operands:
            check_evaluable(operand, text)
        return
    parts = [expression]
    for node in walk(expression):
        if not (isinstance(node, IsNull | IsNotNull) and isinstance(node.operand, Column)):
            parts += node.children
    for part in parts:
        if not is_atomic(part.data_type):
            raise PredicateError(
                f"{text} computes with a value of type {part.data_type}, which only Spark does",
                hint="set the fields of a struct one by one: {'address.city': \"'Bonn'\"}",
            )


def evaluated(expression: Expression, rows: pa.Table) -> pa.Array:
    """The value in every row, of any type."""
    if isinstance(expression, Column) and not is_atomic(expression.data_type):
        return _field(rows, expression.path)
    if isinstance(expression, MakeStruct):
        parts = [evaluated(operand, rows) for operand in expression.operands]
        return struct_array(parts, expression.data_type, None)
    return _single(evaluate(expression, rows))


def _field(rows: pa.Table, path: Path) -> pa.Array:
    values = _single(rows.column(path[0]))
    for name in path[1:]:
        values = pc.struct_field(values, values.type.get_field_index(name))
    return values


def _array(rows: pa.Table | None, name: str) -> pa.Array | None:
    if rows is None or name not in rows.column_names:
        return None
    return _single(rows.column(name))


def _references(value: Expression | pa.Scalar) -> set[Path]:
    return set() if isinstance(value, pa.Scalar) else references(value)


def _single(values: pa.ChunkedArray) -> pa.Array:
    combined = values.combine_chunks()
    if isinstance(combined, pa.ChunkedArray):
        return combined.chunk(0) if combined.num_chunks else pa.array([], combined.type)
    return combined


def _rebuilt(
    path: Path,
    data_type: DataType,
    current: pa.Array | None,
    values: Mapping[Path, pa.Array],
    rows: pa.Table,
) -> pa.Array:
    """A column with the new value in the place of the old one, or of fields of it."""
    if path in values:
        return values[path]
    old = pa.nulls(rows.num_rows, to_arrow_type(data_type)) if current is None else current
    if not isinstance(data_type, StructType) or not any(p[: len(path)] == path for p in values):
        return old
    parts = [
        _rebuilt((*path, field.name), field.data_type, part, values, rows)
        for field, part in zip(data_type.fields, old.flatten(), strict=True)
    ]
    return struct_array(parts, data_type, None)


def _scalar(given: Assignment) -> pa.Scalar:
    value, kind = given.value.value, to_arrow_type(given.data_type)
    try:
        return pa.scalar(value, kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise InvalidArgumentError(
            f"the new value {value!r} for {render_path(given.path)} is no {given.data_type}: "
            f"{error}"
        ) from error
