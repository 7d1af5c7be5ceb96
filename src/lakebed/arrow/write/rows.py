"""Making rows fit for a table before they are written, and refusing those that break its rules.

PROTOCOL: Column Invariants, CHECK Constraints, Generated Columns, Default Columns, Identity
Columns. Absent columns are filled, then every rule is checked on the finished rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.arrow.write.lengths import fit_lengths
from lakebed.arrow.write.nulls import check_nulls
from lakebed.errors import (
    ConstraintViolationError,
    PredicateError,
    SchemaMismatchError,
    UnsupportedFeatureError,
)
from lakebed.expressions import (
    Cast,
    Compare,
    Expression,
    evaluate,
    parse_expression,
    parse_predicate,
)
from lakebed.formats.arrow_types import cast_table, to_arrow_type
from lakebed.spec.columns.column_metadata import (
    Identity,
    current_default,
    generation_expression,
    identity,
    invariants,
    with_identity,
)
from lakebed.spec.properties import TableProperties
from lakebed.spec.schema import StructField, StructType, render_path

_SHOWN = 3
# A default names no column: the row that it is computed for has none of the table's.
_ONE_ROW = pa.table([pa.nulls(1)], names=["row"])


@dataclass(frozen=True)
class PreparedRows:
    """Rows with all columns of the table, and its schema, where identity marks moved on."""

    table: pa.Table
    schema: StructType


def prepare_rows(data: pa.Table, schema: StructType, properties: TableProperties) -> PreparedRows:
    given = {name.lower() for name in data.column_names}
    filled = cast_table(data, schema)
    fields: list[StructField] = []
    columns: list[pa.ChunkedArray] = []
    for column, field in zip(filled.columns, schema.fields, strict=True):
        column, field = _fill(column, field, field.name.lower() in given)
        columns.append(fit_lengths(column, field))
        fields.append(field)
    filled = pa.Table.from_arrays(columns, schema=filled.schema)
    for field in schema.fields:
        filled = _generate(filled, field, schema, field.name.lower() in given)
    _check(filled, schema, properties)
    return PreparedRows(filled, StructType(tuple(fields)))


def require(rule: str, table: pa.Table, schema: StructType, what: str) -> None:
    """Refuses rows for which a SQL condition is not true."""
    _require(evaluate(parse_predicate(rule, schema), table), table, what)


def _fill(
    column: pa.ChunkedArray, field: StructField, given: bool
) -> tuple[pa.ChunkedArray, StructField]:
    """Defaults and identity values."""
    marks = identity(field)
    if marks is not None:
        return _fill_identity(column, field, marks, given)
    default = current_default(field)
    if given or default is None or default.strip().upper() == "NULL":
        return column, field
    value = _expression(default, StructType(), f"the default of column {field.name!r}")
    cast = Cast(value, field.data_type)
    filled = pa.repeat(evaluate(cast, _ONE_ROW)[0], len(column))
    return pa.chunked_array([filled], type=column.type), field


def _fill_identity(
    column: pa.ChunkedArray, field: StructField, marks: Identity, given: bool
) -> tuple[pa.ChunkedArray, StructField]:
    """Values that users give leave the mark alone, as in delta-spark."""
    if not given:
        values = marks.take(len(column))
        column = pa.chunked_array([pa.array(values, to_arrow_type(field.data_type))])
        moved = marks.advanced_to(values[-1]) if len(values) else marks
        return column, field if moved == marks else with_identity(field, moved)
    if not marks.allow_explicit_insert:
        raise SchemaMismatchError(
            f"column {field.name!r} is GENERATED ALWAYS AS IDENTITY: its values cannot be given",
            hint=f"leave {field.name!r} out of the data",
        )
    return column, field


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
    check_nulls(table, schema)
    for path, sql in invariants(schema).items():
        rule = _condition(sql, schema, f"the invariant of {render_path(path)}")
        _require(evaluate(rule, table), table, f"invariant {sql}")
    for name, sql in properties.constraints.items():
        rule = _condition(sql, schema, f"the CHECK constraint {name!r}")
        _require(evaluate(rule, table), table, f"CHECK constraint {name} ({sql})")


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


def _condition(sql: str, schema: StructType, what: str) -> Expression:
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
        hint="if it names a column that is gone, drop it first; else write through Spark",
    )


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _replace(table: pa.Table, field: StructField, column: pa.Array | pa.ChunkedArray) -> pa.Table:
    position = table.schema.get_field_index(field.name)
    return table.set_column(position, table.schema.field(position), column)
