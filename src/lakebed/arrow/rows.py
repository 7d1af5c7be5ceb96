"""Making rows fit for a table before they are written, and refusing those that break its rules.

PROTOCOL: Column Invariants, CHECK Constraints, Generated Columns, Default Columns, Identity
Columns. Absent columns are filled, then every rule is checked on the finished rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import (
    ConstraintViolationError,
    PredicateError,
    SchemaMismatchError,
    UnsupportedFeatureError,
)
from lakebed.expressions import (
    Cast,
    Compare,
    Condition,
    Expression,
    evaluate,
    parse_expression,
    parse_predicate,
)
from lakebed.formats.arrow_types import cast_table, to_arrow_schema, to_arrow_type
from lakebed.spec.column_metadata import (
    Identity,
    current_default,
    generation_expression,
    identity,
    invariants,
    length_limits,
    with_identity,
)
from lakebed.spec.properties import TableProperties
from lakebed.spec.schema import StructField, StructType, render_path

_SHOWN = 3


@dataclass(frozen=True)
class PreparedRows:
    """Rows with all columns of the table, and its schema, where identity marks moved on."""

    table: pa.Table
    schema: StructType

    @property
    def schema_changed(self) -> bool:
        return any(identity(field) is not None for field in self.schema.fields)


def prepare_rows(data: pa.Table, schema: StructType, properties: TableProperties) -> PreparedRows:
    given = {name.lower() for name in data.column_names}
    filled = cast_table(data, schema)
    fields: list[StructField] = []
    for field in schema.fields:
        filled, field = _fill(filled, field, schema, field.name.lower() in given)
        fields.append(field)
    for field in schema.fields:
        filled = _generate(filled, field, schema, field.name.lower() in given)
    _check(filled, schema, properties)
    return PreparedRows(filled, StructType(tuple(fields)))


def _fill(
    table: pa.Table, field: StructField, schema: StructType, given: bool
) -> tuple[pa.Table, StructField]:
    """Defaults and identity values."""
    marks = identity(field)
    if marks is not None:
        return _fill_identity(table, field, marks, given)
    default = current_default(field)
    if given or default is None or default.strip().upper() == "NULL":
        return table, field
    value = _expression(default, schema, f"the default of column {field.name!r}")
    cast = Cast(value, field.data_type)
    return _set(table, field, evaluate(cast, _one_row(schema))[0], table.num_rows), field


def _fill_identity(
    table: pa.Table, field: StructField, marks: Identity, given: bool
) -> tuple[pa.Table, StructField]:
    if not given:
        values = marks.take(table.num_rows)
        column = pa.array(values, to_arrow_type(field.data_type))
        if len(values):
            marks = marks.advanced_to(values[-1])
        return _replace(table, field, column), with_identity(field, marks)
    if not marks.allow_explicit_insert:
        raise SchemaMismatchError(
            f"column {field.name!r} is GENERATED ALWAYS AS IDENTITY: its values cannot be given",
            hint=f"leave {field.name!r} out of the data",
        )
    column = table.column(field.name)
    if len(column) and column.null_count < len(column):
        far = pc.max(column) if marks.step > 0 else pc.min(column)
        marks = marks.advanced_to(far.as_py())
    return table, with_identity(field, marks)


def _generate(table: pa.Table, field: StructField, schema: StructType, given: bool) -> pa.Table:
    """Generated columns are computed when absent and checked when given."""
    sql = generation_expression(field)
    if sql is None:
        return table
    wanted = Cast(
        _expression(sql, schema, f"the generation expression of column {field.name!r}"),
        field.data_type,
    )
    if not given:
        return _replace(table, field, evaluate(wanted, table))
    from_data = _expression(_quoted(field.name), schema, field.name)
    same = evaluate(Compare("<=>", from_data, wanted), table)
    _require(same, table, f"generated column {field.name!r} <=> {sql}")
    return table


def _check(table: pa.Table, schema: StructType, properties: TableProperties) -> None:
    for field in schema.fields:
        column = table.column(field.name)
        _check_nulls(column, field, (field.name,))
        _check_lengths(column, field)
    for path, sql in invariants(schema).items():
        rule = _condition(sql, schema, f"the invariant of {render_path(path)}")
        _require(evaluate(rule, table), table, f"invariant {sql}")
    for name, sql in properties.constraints.items():
        rule = _condition(sql, schema, f"the CHECK constraint {name!r}")
        _require(evaluate(rule, table), table, f"CHECK constraint {name} ({sql})")


def _check_nulls(column: pa.ChunkedArray, field: StructField, path: tuple[str, ...]) -> None:
    """NOT NULL, also of fields inside structs that are there."""
    if not field.nullable and column.null_count:
        raise ConstraintViolationError(
            f"column {render_path(path)} is NOT NULL, but {column.null_count} row(s) are null",
            hint="fill the nulls, or make the column nullable first",
        )
    if isinstance(field.data_type, StructType):
        present = column.drop_null() if column.null_count else column
        for inner in field.data_type.fields:
            _check_nulls(pc.struct_field(present, inner.name), inner, (*path, inner.name))


def _check_lengths(column: pa.ChunkedArray, field: StructField) -> None:
    limit = length_limits(field).get(())
    if limit is None:
        return
    longest = pc.max(pc.utf8_length(column)).as_py()
    if longest is not None and longest > limit.length:
        raise ConstraintViolationError(
            f"column {field.name!r} is {limit}, but a value has {longest} characters",
            hint="shorten the values",
        )


def _require(passed: pa.ChunkedArray, table: pa.Table, rule: str) -> None:
    failed = pc.invert(pc.fill_null(passed, False))
    count = pc.sum(failed).as_py() or 0
    if count:
        rows = table.filter(failed).slice(0, _SHOWN).to_pylist()
        shown = "\n".join(f"  {row}" for row in rows)
        raise ConstraintViolationError(
            f"{count} row(s) break the {rule}, for example:\n{shown}",
            hint="nothing was written; correct the rows",
        )


def _condition(sql: str, schema: StructType, what: str) -> Condition:
    try:
        return parse_predicate(sql, schema)
    except PredicateError as error:
        raise _too_hard(what, sql, error) from error


def _expression(sql: str, schema: StructType, what: str) -> Expression:
    try:
        return parse_expression(sql, schema)
    except PredicateError as error:
        raise _too_hard(what, sql, error) from error


def _too_hard(what: str, sql: str, error: PredicateError) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"{what}, {sql!r}, cannot be evaluated without Spark: {error.message}",
        hint="write to this table through Spark",
    )


def _one_row(schema: StructType) -> pa.Table:
    return pa.table(
        [pa.nulls(1, field.type) for field in to_arrow_schema(schema)],
        names=[field.name for field in schema.fields],
    )


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _set(table: pa.Table, field: StructField, value: pa.Scalar, count: int) -> pa.Table:
    return _replace(table, field, pa.repeat(value, count))


def _replace(table: pa.Table, field: StructField, column: pa.Array) -> pa.Table:
    position = table.column_names.index(field.name)
    return table.set_column(position, table.schema.field(position), column)
