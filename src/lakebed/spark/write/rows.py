"""Preparing the rows of a DataFrame for a table: the twin of `arrow.write.rows`, in Spark's own
expressions.

PROTOCOL: Column Invariants, CHECK Constraints, Generated Columns, Default Columns, Identity
Columns. Columns are matched by name and converted, absent ones filled, and rows that break a rule
make the job fail before anything is committed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame

from lakebed.data_files.file_layout import FileLayout
from lakebed.errors import SchemaMismatchError
from lakebed.expressions.allowed import ExpressionKind
from lakebed.spark.columns.projection import is_same_type, quote, spark_type
from lakebed.spark.columns.sql_expressions import sql_column, table_expression
from lakebed.spark.errors.rule_errors import rule_message
from lakebed.spark.session.session_kind import functions_of
from lakebed.spark.write.generated_values import default_value, generated_value
from lakebed.spark.write.type_conversion import converted, limited
from lakebed.spec.columns.column_metadata import (
    generation_expression,
    identity,
    invariants,
    length_limits,
)
from lakebed.spec.schema import (
    BINARY,
    STRING,
    ArrayType,
    DataType,
    MapType,
    Path,
    StructField,
    StructType,
    render_path,
)

Test = Callable[[Column], Column]


@dataclass(frozen=True)
class Rule:
    """What must be true of each row. `name` says it to users."""

    name: str
    holds: Column


def prepare_frame(
    frame: DataFrame,
    given: StructType,
    layout: FileLayout,
    *,
    numbering: int | None = None,
    condition: str | None = None,
    keeps_identity: bool = False,
    extra_columns: Sequence[str] = (),
) -> DataFrame:
    """The columns of the table, in its order and types, with every rule checked as rows pass.

    `given` is the schema of the frame. `numbering` is how many partitions it has, if known; values
    of identity columns then leave no large gaps. `condition` is one rule more. With
    `keeps_identity` the rows bring values of identity columns that the table has given them.
    `extra_columns` are more columns of the frame, which follow those of the table as they are.
    """
    preparation = _Preparation(
        frame, given, layout, numbering, keeps_identity, tuple(extra_columns)
    )
    return preparation.run(condition)


def conform(
    frame: DataFrame, given: StructType, schema: StructType, extra_columns: Sequence[str] = ()
) -> DataFrame:
    """Rows that are in the table already, with the columns of its newer schema.

    `extra_columns` are more columns of the frame, which follow as they are.
    """
    f = functions_of(frame)
    columns = [_conformed(f, given.find(field.name), field) for field in schema.fields]
    return frame.select(*columns, *[f.col(quote(name)) for name in extra_columns])


class _Preparation:
    def __init__(
        self,
        frame: DataFrame,
        given: StructType,
        layout: FileLayout,
        numbering: int | None,
        keeps_identity: bool,
        extra_columns: tuple[str, ...],
    ) -> None:
        self._frame = frame
        self._given = given
        self._layout = layout
        self._numbering = numbering
        self._keeps_identity = keeps_identity
        self._schema = layout.schema
        self._f = functions_of(frame)
        self._extra_columns = [self._f.col(quote(name)) for name in extra_columns]

    def run(self, condition: str | None) -> DataFrame:
        filled = self._frame
        if not self._is_as_it_is():
            # Some calls of the JVM for each column.
            values = [self._filled(field) for field in self._schema.fields]
            filled = self._frame.select(*values, *self._extra_columns)
        computed = self._computed(filled)
        rules = list(self._rules(condition))
        return computed.where(self._all(rules)) if rules else computed

    # --- values ---

    def _is_as_it_is(self) -> bool:
        """Whether the frame has the columns of the table, and nothing is to be done to them."""
        return (
            not self._extra_columns
            and self._given.names == self._schema.names == tuple(self._frame.columns)
            and all(
                is_same_type(source.data_type, field.data_type)
                and identity(field) is None
                and not length_limits(field)
                for source, field in zip(self._given.fields, self._schema.fields, strict=True)
            )
        )

    def _filled(self, field: StructField) -> Column:
        source = self._given.find(field.name)
        marks = identity(field)
        if source is None:
            value = default_value(self._frame, field) if marks is None else self._numbered(field)
            return value.alias(field.name)
        is_new = not self._keeps_identity
        if marks is not None and is_new and not marks.allow_explicit_insert:
            raise SchemaMismatchError(
                f"column {field.name!r} is GENERATED ALWAYS AS IDENTITY: its values cannot be "
                "given",
                hint=f"leave {field.name!r} out of the data",
                condition="DELTA_IDENTITY_COLUMNS_EXPLICIT_INSERT_NOT_SUPPORTED",
            )
        column = self._f.col(quote(source.name))
        value = converted(self._f, column, source.data_type, field.data_type)
        return limited(self._f, value, field).alias(field.name)

    def _numbered(self, field: StructField) -> Column:
        """Values that no two rows share, whatever task makes them.

        Row k of partition p of n is number p + k * n. Without n the gaps are wide.
        """
        marks = identity(field)
        assert marks is not None
        number = self._f.monotonically_increasing_id()
        if self._numbering is not None:
            row = number.bitwiseAND(self._f.lit(_ROWS_OF_PARTITION))
            number = self._partition() + row * self._f.lit(self._numbering)
        first = marks.take(1)[0]
        return (self._f.lit(first) + number * self._f.lit(marks.step)).cast("long")

    def _partition(self) -> Column:
        place = self._f.spark_partition_id().cast("long")
        failed = self._f.raise_error("the plan has more partitions than were counted")
        return self._f.when(place < self._numbering, place).otherwise(failed.cast("long"))

    def _computed(self, frame: DataFrame) -> DataFrame:
        """Generated columns that are not given. Their expressions see all the others."""
        absent = {
            field.name: generation_expression(field)
            for field in self._schema.fields
            if field.name not in self._given and generation_expression(field) is not None
        }
        if not absent:
            return frame
        columns = [
            generated_value(self._frame, field, self._schema).alias(field.name)
            if field.name in absent
            else self._f.col(quote(field.name))
            for field in self._schema.fields
        ]
        return frame.select(*columns, *self._extra_columns)

    # --- rules ---

    def _rules(self, condition: str | None) -> Iterator[Rule]:
        yield from self._not_null()
        for field in self._schema.fields:
            sql = generation_expression(field)
            if sql is not None and field.name in self._given:
                wanted = generated_value(self._frame, field, self._schema)
                same = self._f.col(quote(field.name)).eqNullSafe(wanted)
                yield Rule(f"generated column {field.name!r} <=> {sql}", same)
        for path, sql in invariants(self._schema).items():
            holds = self._of_table(sql, ExpressionKind.INVARIANT, render_path(path))
            yield Rule(f"invariant {sql}", holds)
        for name, sql in self._layout.properties.constraints.items():
            holds = self._of_table(sql, ExpressionKind.CHECK, name)
            yield Rule(f"CHECK constraint {name} ({sql})", holds)
        if condition is not None:
            yield Rule(f"condition {condition}", sql_column(self._frame, condition))

    def _of_table(self, sql: str, kind: ExpressionKind, where: str) -> Column:
        return table_expression(self._frame, sql, kind, where, self._schema)

    def _not_null(self) -> Iterator[Rule]:
        partitions = {name.lower() for name in self._layout.partition_columns}
        for field in self._schema.fields:
            name = quote(field.name)
            for path, test in _tests(self._f, field.data_type, field.nullable, (field.name,)):
                yield Rule(f"NOT NULL of column {render_path(path)}", test(self._f.col(name)))
            is_text = field.data_type in (STRING, BINARY)
            if not field.nullable and is_text and field.name.lower() in partitions:
                what = f"NOT NULL of partition column {field.name!r}, where empty is null"
                yield Rule(what, self._f.octet_length(self._f.col(name)) > 0)

    def _all(self, rules: list[Rule]) -> Column:
        row = self._row()
        # One flat CASE: Spark makes a chain of AND, in which it descends once for each rule, and
        # thousands of columns may be NOT NULL.
        checked: Any = self._f
        for rule in rules:
            checked = checked.when(*self._broken(rule, row))
        all_hold: Column = checked.otherwise(self._f.lit(True))
        return all_hold

    def _row(self) -> Column:
        f = self._f
        return f.to_json(f.struct(*[f.col(quote(name)) for name in self._shown()]))

    def _broken(self, rule: Rule, row: Column) -> tuple[Column, Column]:
        """Whether a row breaks the rule, and the error about it."""
        f = self._f
        holds = f.coalesce(rule.holds, f.lit(False))
        # The number of the partition makes the condition one that the optimizer does not move: a
        # row that a join or a limit drops later must not fail.
        where = f.spark_partition_id().cast("string")
        head, tail = rule_message(rule.name)
        message = f.concat(f.lit(head), row, f.lit(" in partition "), where, f.lit(tail))
        return ~holds, f.raise_error(message).cast("boolean")

    def _shown(self) -> list[str]:
        """The columns of a bad row that the error shows: those that JSON can hold."""
        fields = (field for field in self._schema.fields if _is_plain(field.data_type))
        return [field.name for field in fields][:_MOST_SHOWN] or [self._schema.fields[0].name]


def _conformed(f: Any, source: StructField | None, field: StructField) -> Column:
    if source is None:
        return f.lit(None).cast(spark_type(field.data_type)).alias(field.name)
    value = f.col(quote(source.name))
    return converted(f, value, source.data_type, field.data_type).alias(field.name)


def _tests(
    f: Any, data_type: DataType, nullable: bool, path: Path, *, is_element: bool = False
) -> Iterator[tuple[Path, Test]]:
    """The conditions on a value that nothing in it is null where the schema takes no nulls.

    The rule about structs that are null is that of `arrow.write.rows`. `is_element`: the value
    is in an array or a map.
    """
    if not nullable:
        yield path, lambda value: value.isNotNull()
    if isinstance(data_type, StructType):
        for field in data_type.fields:
            here = (*path, field.name)
            parts = _tests(f, field.data_type, field.nullable, here, is_element=is_element)
            for inner, test in parts:
                yield inner, _inside(_part(field.name), test, or_null=is_element)
    elif isinstance(data_type, ArrayType):
        type_, here = data_type.element_type, (*path, "element")
        for inner, test in _tests(f, type_, data_type.contains_null, here, is_element=True):
            yield inner, _inside_all(f, lambda value: value, test)
    elif isinstance(data_type, MapType):
        for inner, test in _tests(f, data_type.key_type, True, (*path, "key"), is_element=True):
            yield inner, _inside_all(f, f.map_keys, test)
        type_, here = data_type.value_type, (*path, "value")
        for inner, test in _tests(f, type_, data_type.value_contains_null, here, is_element=True):
            yield inner, _inside_all(f, f.map_values, test)


def _part(name: str) -> Test:
    return lambda value: value.getField(name)


def _inside(part: Test, test: Test, *, or_null: bool) -> Test:
    """A test of a field, which is null in a struct that is null itself."""
    if or_null:
        return lambda value: value.isNull() | test(part(value))
    return lambda value: test(part(value))


def _inside_all(f: Any, parts: Test, test: Test) -> Test:
    return lambda value: value.isNull() | f.forall(parts(value), test)


def _is_plain(data_type: DataType) -> bool:
    return not isinstance(data_type, StructType | ArrayType | MapType) and str(data_type) not in (
        "variant",
        "void",
        "binary",
    )


_ROWS_OF_PARTITION = (1 << 33) - 1
_MOST_SHOWN = 8
