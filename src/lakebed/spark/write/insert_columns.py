"""Columns of a query as columns of a table, as an INSERT stores them.

Values are converted by the store assignment (`store_casts`). Fields of structs are matched as in
delta-spark: by name where names and types are all those of the table, else by position, and then a
struct needs at least as many fields as the table has. What only the query has stays in the rows:
the write adds it to the table, or refuses it. COPY INTO always matches by name, because files have
their fields in any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from pyspark.sql import Column, DataFrame

from lakebed.errors import SchemaMismatchError
from lakebed.spark.columns.projection import is_same_type, quote, spark_type
from lakebed.spark.columns.spark_types import incoming_schema
from lakebed.spark.session.session_kind import functions_of
from lakebed.spark.write.store_casts import Cast, insert_cast
from lakebed.spec.columns.column_metadata import is_filled_by_writer
from lakebed.spec.columns.type_widening import can_widen_automatically
from lakebed.spec.schema import (
    VOID,
    ArrayType,
    DataType,
    MapType,
    Path,
    StructField,
    StructType,
    render_path,
)


def copied_by_name(frame: DataFrame, schema: StructType, *, widens: bool = False) -> DataFrame:
    """The columns of files: those that the table has as its types, fields of structs by name.

    `widens`: the write takes wider types over into the table.
    """
    given = incoming_schema(frame)
    assignment = _StoreAssignment.of(frame, widens=widens, by_name=True)
    columns = [assignment.column(each, schema.find(each.name)) for each in given.fields]
    return frame.select(*columns)


def copied_by_position(frame: DataFrame, targets: Sequence[StructField]) -> DataFrame:
    """The same, with the columns under the names of the targets."""
    named = frame.toDF(*[target.name for target in targets])
    return copied_by_name(named, StructType(tuple(targets)))


def assigned_by_name(frame: DataFrame, schema: StructType, *, widens: bool = False) -> DataFrame:
    """All columns, those that the table has as its types; names as the query has them.

    `widens`: the write takes wider types over into the table.
    """
    given = incoming_schema(frame)
    targets = [schema.find(each.name) for each in given.fields]
    return frame.select(
        *_assigned(frame, given, targets, given.names, is_named=True, widens=widens)
    )


def written_by_name(frame: DataFrame, schema: StructType, *, widens: bool = False) -> DataFrame:
    """What a program writes to a named table: values as the types that the table has.

    Fields of structs are matched by name, and those that are missing stay so.
    """
    given = incoming_schema(frame)
    targets = [schema.find(each.name) for each in given.fields]
    pairs = list(zip(given.fields, targets, strict=True))
    if all(
        target is None or _has_same_leaves(field.data_type, target.data_type, widens)
        for field, target in pairs
    ):
        return frame
    assignment = _StoreAssignment.of(frame, widens=widens, by_name=True)
    return frame.select(*[assignment.column(field, target) for field, target in pairs])


def assigned_by_position(
    frame: DataFrame,
    targets: Sequence[StructField],
    *,
    is_listed: bool = False,
    widens: bool = False,
) -> DataFrame:
    """The columns under the names and as the types of the targets; more than these stay.

    `is_listed`: the statement lists its columns, and the names that the query has do not count.
    """
    names = [target.name for target in targets]
    is_named = not is_listed and frame.columns[: len(names)] == names
    extra = frame.columns[len(targets) :]
    numbered = frame.toDF(*[f"c{i}" for i in range(len(frame.columns))])
    given = incoming_schema(numbered)
    wanted = [*targets, *[None] * len(extra)]
    named = [*names, *extra]
    columns = _assigned(numbered, given, wanted, named, is_named=is_named, widens=widens)
    return numbered.select(*columns)


def with_absent_partitions(
    frame: DataFrame, schema: StructType, partition_columns: Sequence[str]
) -> DataFrame:
    """The rows of an INSERT that leaves partition columns out: SQL stores nulls then.

    A write of a DataFrame without them is an error instead.
    """
    given = {name.lower() for name in frame.columns}
    fields = [schema.field(name) for name in partition_columns if name.lower() not in given]
    f = functions_of(frame)
    for field in fields:
        if not is_filled_by_writer(field):
            null = f.lit(None).cast(spark_type(field.data_type))
            frame = frame.withColumn(field.name, null)
    return frame


def _assigned(
    frame: DataFrame,
    given: StructType,
    targets: Sequence[StructField | None],
    names: Sequence[str],
    *,
    is_named: bool,
    widens: bool,
) -> list[Column]:
    f = functions_of(frame)
    pairs = list(zip(given.fields, targets, strict=True))
    if is_named and all(
        target is None or _is_stored_as_is(field.data_type, target.data_type, widens)
        for field, target in pairs
    ):
        # The write itself matches fields by their names.
        values = [f.col(quote(field.name)) for field in given.fields]
    else:
        assignment = _StoreAssignment.of(frame, widens=widens)
        values = [assignment.column(field, target) for field, target in pairs]
    return [value.alias(name) for value, name in zip(values, names, strict=True)]


def _is_stored_as_is(given: DataType, wanted: DataType, widens: bool) -> bool:
    """Whether a value has all that the column has, under the same names and of the same types."""
    if isinstance(given, StructType) and isinstance(wanted, StructType):
        fields = [(given.find(each.name), each) for each in wanted.fields]
        return all(
            field is not None
            and field.name == target.name
            and _is_stored_as_is(field.data_type, target.data_type, widens)
            for field, target in fields
        )
    if isinstance(given, ArrayType) and isinstance(wanted, ArrayType):
        return _is_stored_as_is(given.element_type, wanted.element_type, widens)
    if isinstance(given, MapType) and isinstance(wanted, MapType):
        keys = _is_stored_as_is(given.key_type, wanted.key_type, widens)
        return keys and _is_stored_as_is(given.value_type, wanted.value_type, widens)
    return given == wanted or _is_taken_over(given, wanted, widens)


def _has_same_leaves(given: DataType, wanted: DataType, widens: bool) -> bool:
    """Whether no value in it would be cast. The write decides about fields on one side alone."""
    if isinstance(given, StructType) and isinstance(wanted, StructType):
        found = [(each, wanted.find(each.name)) for each in given.fields]
        return all(
            target is None or _has_same_leaves(field.data_type, target.data_type, widens)
            for field, target in found
        )
    if isinstance(given, ArrayType) and isinstance(wanted, ArrayType):
        return _has_same_leaves(given.element_type, wanted.element_type, widens)
    if isinstance(given, MapType) and isinstance(wanted, MapType):
        keys = _has_same_leaves(given.key_type, wanted.key_type, widens)
        return keys and _has_same_leaves(given.value_type, wanted.value_type, widens)
    return given in (wanted, VOID) or _is_taken_over(given, wanted, widens)


def _is_taken_over(given: DataType, wanted: DataType, widens: bool) -> bool:
    """Whether the column gets the type of the value."""
    return wanted == VOID or (widens and can_widen_automatically(wanted, given))


@dataclass(frozen=True)
class _StoreAssignment:
    """Values as the types of columns store them, fields of structs by position or by name."""

    f: Any
    cast: Cast
    widens: bool
    by_name: bool

    @classmethod
    def of(
        cls, frame: DataFrame, *, widens: bool = False, by_name: bool = False
    ) -> _StoreAssignment:
        return cls(functions_of(frame), insert_cast(frame.sparkSession), widens, by_name)

    def column(self, given: StructField, target: StructField | None) -> Column:
        value = self.f.col(quote(given.name))
        if target is None:
            return value
        converted = self.converted(value, given.data_type, target.data_type, (target.name,))
        return converted.alias(given.name)

    def converted(self, value: Column, given: DataType, wanted: DataType, path: Path) -> Column:
        f = self.f
        if is_same_type(given, wanted) or _is_taken_over(given, wanted, self.widens):
            return value
        if isinstance(given, StructType) and isinstance(wanted, StructType):
            return self._struct(value, given, wanted, path)
        if isinstance(given, ArrayType) and isinstance(wanted, ArrayType):
            inner = (given.element_type, wanted.element_type, (*path, "element"))
            return f.transform(value, lambda each: self.converted(each, *inner))
        if isinstance(given, MapType) and isinstance(wanted, MapType):
            keys = (given.key_type, wanted.key_type, (*path, "key"))
            values = (given.value_type, wanted.value_type, (*path, "value"))
            value = f.transform_values(value, lambda _, each: self.converted(each, *values))
            return f.transform_keys(value, lambda each, _: self.converted(each, *keys))
        return self.cast(value, given, wanted, path)

    def _struct(self, value: Column, given: StructType, wanted: StructType, path: Path) -> Column:
        parts = []
        for field, target in self._pairs(given, wanted, path):
            part, name = value.getField(field.name), field.name
            if target is not None:
                here, name = (*path, target.name), target.name
                part = self.converted(part, field.data_type, target.data_type, here)
            parts.append(part.alias(name))
        return self.f.when(value.isNotNull(), self.f.struct(*parts))

    def _pairs(
        self, given: StructType, wanted: StructType, path: Path
    ) -> list[tuple[StructField, StructField | None]]:
        """The fields of a value with those that they are stored as."""
        if self.by_name:
            return [(field, wanted.find(field.name)) for field in given.fields]
        if len(given) < len(wanted):
            raise SchemaMismatchError(
                f"the value for {render_path(path)} has {len(given)} fields, but values are needed "
                f"for {len(wanted)}: {', '.join(wanted.names)}",
                hint="give all fields of the struct, in the order of the table",
            )
        return list(zip_longest(given.fields, wanted.fields))
