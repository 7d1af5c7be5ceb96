"""New values of columns as Columns of Spark.

A value is converted to the type of its column by store assignment (`spark.write.store_casts`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from pyspark.sql import Column, DataFrame

from lakebed.commands.rows.assignments import Assignment
from lakebed.spark.columns.projection import spark_type
from lakebed.spark.columns.spark_types import incoming_schema
from lakebed.spark.columns.sql_expressions import sql_column
from lakebed.spark.session.session_kind import functions_of
from lakebed.spark.write.store_casts import change_cast
from lakebed.spark.write.type_conversion import TypeConversion
from lakebed.spec.schema import DataType, Path, StructType

Value: TypeAlias = "str | Column"


def new_values(
    frame: DataFrame,
    given: Sequence[Assignment],
    schema: StructType,
    current: Mapping[str, Column],
    *,
    fills: bool = False,
    keeps_fields: bool = False,
) -> dict[str, Column]:
    """The columns with a new value, by their names. `current` are the values that they have now.

    `fills`: fields of structs that a new value does not have become null. `keeps_fields`: they keep
    the value that they have.
    """
    if not given:
        return {}
    f = functions_of(frame)
    conversion = TypeConversion(f, change_cast(frame.sparkSession), fills=fills)
    raw = [as_column(frame, each.value) for each in given]
    types = _types(frame, raw)
    values: dict[Path, Column] = {
        each.path: conversion.converted(
            column,
            data_type,
            each.data_type,
            each.path,
            current.get(each.path[0]) if keeps_fields and len(each.path) == 1 else None,
        )
        for each, column, data_type in zip(given, raw, types, strict=True)
    }
    changed = {each.path[0] for each in given}
    return {
        field.name: _rebuilt(f, (field.name,), field.data_type, current.get(field.name), values)
        for field in schema.fields
        if field.name in changed
    }


def as_column(owner: DataFrame, value: Value) -> Column:
    return sql_column(owner, value) if isinstance(value, str) else value


def _types(frame: DataFrame, columns: Sequence[Column]) -> list[DataType]:
    numbered = [column.alias(f"c{number}") for number, column in enumerate(columns)]
    return [field.data_type for field in incoming_schema(frame.select(*numbered)).fields]


def _rebuilt(
    f: Any,
    path: Path,
    data_type: DataType,
    current: Column | None,
    values: Mapping[Path, Column],
) -> Column:
    """A column with the new value in the place of the old one, or of fields of it."""
    if path in values:
        return values[path]
    null = f.lit(None).cast(spark_type(data_type))
    old = null if current is None else current
    if not isinstance(data_type, StructType) or not any(p[: len(path)] == path for p in values):
        return old
    parts = [
        _rebuilt(f, (*path, field.name), field.data_type, old.getField(field.name), values).alias(
            field.name
        )
        for field in data_type.fields
    ]
    return f.struct(*parts)
