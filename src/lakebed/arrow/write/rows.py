"""Making rows fit for a table before they are written, and refusing those that break its rules.

PROTOCOL: Column Invariants, CHECK Constraints, Generated Columns, Default Columns, Identity
Columns. Absent columns are filled, then every rule is checked on the finished rows.
"""

from __future__ import annotations

from collections.abc import Mapping
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
    Expression,
    evaluate,
    parse_expression,
    parse_predicate,
)
from lakebed.formats.arrow_cast import cast_table
from lakebed.formats.arrow_types import to_arrow_type
from lakebed.spec.columns.column_metadata import (
    Identity,
    LengthLimit,
    current_default,
    generation_expression,
    identity,
    invariants,
    length_limits,
    with_identity,
)
from lakebed.spec.properties import TableProperties
from lakebed.spec.schema import (
    ArrayType,
    DataType,
    MapType,
    Path,
    StructField,
    StructType,
    render_path,
    walk_types,
)

_SHOWN = 3
# A default names no column: the row that it is computed for has none of the table's.
_ONE_ROW = pa.table([pa.nulls(1)], names=["row"])


@dataclass(frozen=True)
class PreparedRows:
    """Rows with all columns of the table, and its schema with the new high-water marks of identity
    columns.
    """

    table: pa.Table
    schema: StructType


def prepare_rows(
    data: pa.Table,
    schema: StructType,
    properties: TableProperties,
    *,
    keeps_identity: bool = False,
) -> PreparedRows:
    """With `keeps_identity` the rows bring values of identity columns that the table gave them."""
    given = {name.lower() for name in data.column_names}
    filled = cast_table(data, schema)
    fields: list[StructField] = []
    columns: list[pa.ChunkedArray] = []
    for column, field in zip(filled.columns, schema.fields, strict=True):
        is_given = field.name.lower() in given
        if not (is_given and keeps_identity):
            column, field = _fill(column, field, is_given)
        columns.append(_fit_lengths(column, field))
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
            condition="DELTA_IDENTITY_COLUMNS_EXPLICIT_INSERT_NOT_SUPPORTED",
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
    _check_nulls(table, schema)
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


# --- char(n) and varchar(n) -----------------------------------------------------------------------

# As Spark stores them: `char(n)` padded, neither longer than n. Blanks beyond the limit are cut
# off, as in Spark and in the SQL standard; anything else is refused.


def _fit_lengths(column: pa.ChunkedArray, field: StructField) -> pa.ChunkedArray:
    """The column with every string of limited length in it, at any depth, as it is stored."""
    limits = length_limits(field)
    if not limits:
        return column
    limited = _LengthLimits(field.name, limits)
    chunks = [limited.fit(chunk, field.data_type, ()) for chunk in column.chunks]
    return pa.chunked_array(chunks, type=column.type)


class _LengthLimits:
    def __init__(self, column: str, limits: Mapping[Path, LengthLimit]) -> None:
        self._column = column
        self._limits = limits

    def fit(self, array: pa.Array, data_type: DataType, path: Path) -> pa.Array:
        limit = self._limits.get(path)
        if limit is not None:
            return self._string(array, limit, path)
        if not any(known[: len(path)] == path for known in self._limits):
            return array
        if isinstance(data_type, StructType):
            return self._struct(array, data_type, path)
        if isinstance(data_type, ArrayType):
            fresh, mask = _fresh(array)
            values = self.fit(fresh.values, data_type.element_type, (*path, "element"))
            return pa.ListArray.from_arrays(fresh.offsets, values, type=array.type, mask=mask)
        if isinstance(data_type, MapType):
            fresh, mask = _fresh(array)
            keys = self.fit(fresh.keys, data_type.key_type, (*path, "key"))
            items = self.fit(fresh.items, data_type.value_type, (*path, "value"))
            return pa.MapArray.from_arrays(fresh.offsets, keys, items, type=array.type, mask=mask)
        return array

    def _struct(self, array: pa.Array, data_type: StructType, path: Path) -> pa.Array:
        parts = [
            self.fit(part, field.data_type, (*path, field.name))
            for part, field in zip(array.flatten(), data_type.fields, strict=True)
        ]
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(parts, fields=list(array.type), mask=mask)

    def _string(self, array: pa.Array, limit: LengthLimit, path: Path) -> pa.Array:
        needed = pc.max(pc.utf8_length(pc.utf8_rtrim(array, " "))).as_py() or 0
        if needed > limit.length:
            raise ConstraintViolationError(
                f"column {render_path((self._column, *path))} is {limit}, but a value has "
                f"{needed} characters",
                hint="nothing was written; shorten the values",
            )
        too_long = pc.greater(pc.utf8_length(array), limit.length)
        if pc.any(too_long).as_py():
            cut = pc.utf8_slice_codeunits(array, 0, limit.length)
            array = pc.if_else(too_long, cut, array)
        return pc.utf8_rpad(array, limit.length, " ") if limit.padded else array


def _fresh(array: pa.Array) -> tuple[pa.Array, pa.Array | None]:
    """A copy that is no slice: only such arrays can be rebuilt around new values."""
    copy = array.take(pc.indices_nonzero(pa.repeat(pa.scalar(True), len(array))))
    return copy, copy.is_null() if copy.null_count else None


# --- NOT NULL at every depth (PROTOCOL: Column Metadata, `nullable`, `containsNull`) --------------

# As in delta-spark a field that is NOT NULL demands that the structs around it are not null either:
# delta-spark cannot rewrite such a row. It does not look into arrays and maps; there, what is below
# a null does not count.


def _check_nulls(table: pa.Table, schema: StructType) -> None:
    """Refuses nulls where the schema takes none; `table` has the columns of the schema."""
    for column, field in zip(table.columns, schema.fields, strict=True):
        if not field.nullable:
            _refuse(column, (field.name,))
        if _has_limits(field.data_type):
            for chunk in column.chunks:
                _check_inside(chunk, field.data_type, (field.name,))


def _check_inside(array: pa.Array, data_type: DataType, path: Path) -> None:
    """`array` is a column, or a field of structs that are not in an array or a map."""
    if isinstance(data_type, StructType) and _has_limits(data_type):
        # Here the fields of a null struct are null.
        for part, field in zip(array.flatten(), data_type.fields, strict=True):
            here = (*path, field.name)
            if not field.nullable:
                _refuse(part, here)
            _check_inside(part, field.data_type, here)
    else:
        _check_elements(array, data_type, path)


def _check_elements(array: pa.Array, data_type: DataType, path: Path) -> None:
    if not _has_limits(data_type):
        return
    present = array.drop_null() if array.null_count else array
    if isinstance(data_type, StructType):
        for i, field in enumerate(data_type.fields):
            _check_part(present.field(i), field.data_type, field.nullable, (*path, field.name))
    elif isinstance(data_type, ArrayType):
        here = (*path, "element")
        _check_part(present.flatten(), data_type.element_type, data_type.contains_null, here)
    elif isinstance(data_type, MapType):
        first, count = _range(present)
        nullable = data_type.value_contains_null
        _check_elements(present.keys.slice(first, count), data_type.key_type, (*path, "key"))
        values = present.items.slice(first, count)
        _check_part(values, data_type.value_type, nullable, (*path, "value"))


def _check_part(array: pa.Array, data_type: DataType, nullable: bool, path: Path) -> None:
    if not nullable:
        _refuse(array, path)
    _check_elements(array, data_type, path)


def _refuse(values: pa.Array | pa.ChunkedArray, path: Path) -> None:
    if values.null_count:
        raise ConstraintViolationError(
            f"column {render_path(path)} is NOT NULL, but {values.null_count} of its values "
            f"{'is' if values.null_count == 1 else 'are'} null",
            hint="nothing was written; fill the nulls, or make the column nullable first",
            condition="DELTA_NOT_NULL_CONSTRAINT_VIOLATED",
        )


def _range(array: pa.MapArray) -> tuple[int, int]:
    """The entries that an array without nulls, maybe a slice of another, is about."""
    if not len(array):
        return 0, 0
    first = array.offsets[0].as_py()
    return first, array.offsets[len(array)].as_py() - first


def _has_limits(data_type: DataType) -> bool:
    return any(
        (isinstance(each, StructType) and not all(field.nullable for field in each))
        or (isinstance(each, ArrayType) and not each.contains_null)
        or (isinstance(each, MapType) and not each.value_contains_null)
        for each in walk_types(data_type)
    )
