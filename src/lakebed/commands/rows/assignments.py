"""`SET column = expression`: new values for columns and for fields inside of them.

As in delta-spark a name may carry the alias of the table, fields of structs are named with dots,
and a value is converted to the type of its column by store assignment (`spark.write.store_casts`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, TypeAlias

from pyspark.sql import Column, DataFrame

from lakebed.errors import InvalidArgumentError, SchemaError
from lakebed.spark.columns.projection import spark_type
from lakebed.spark.columns.spark_types import incoming_schema
from lakebed.spark.columns.sql_expressions import sql_column
from lakebed.spark.internals.column_reference import split_name
from lakebed.spark.session.session_kind import functions_of
from lakebed.spark.write.store_casts import change_cast
from lakebed.spark.write.type_conversion import TypeConversion
from lakebed.spec.columns.column_metadata import identity
from lakebed.spec.schema import DataType, Path, StructField, StructType, render_path

Value: TypeAlias = "str | Column"


@dataclass(frozen=True)
class Assignment:
    """A new value for a column of the table, or for a field in it."""

    path: Path
    data_type: DataType
    value: Value


def assignments(
    values: Mapping[str, Value], schema: StructType, aliases: Sequence[str] = ()
) -> list[Assignment]:
    """The values by the columns that they are for, checked against the schema."""
    found: dict[Path, Assignment] = {}
    for name, value in values.items():
        path, data_type = _resolve(name, schema, aliases)
        for other in found:
            shared = min(len(other), len(path))
            if other[:shared] == path[:shared]:
                raise InvalidArgumentError(
                    f"both {render_path(other)} and {render_path(path)} are given a value",
                    hint="set a column or its fields, each of them once",
                    condition="DELTA_CONFLICT_SET_COLUMN",
                )
        found[path] = Assignment(path, data_type, value)
    return list(found.values())


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


def check_identity(given: Sequence[Assignment], schema: StructType) -> None:
    for each in given:
        field = schema.field(each.path[0])
        if identity(field) is not None:
            raise InvalidArgumentError(
                f"column {field.name!r} is an identity column: its values cannot be updated",
                hint=f"leave {field.name!r} out of the values to set",
                condition="DELTA_IDENTITY_COLUMNS_UPDATE_NOT_SUPPORTED",
            )


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


def name_parts(name: str, schema: StructType, aliases: Sequence[str]) -> Sequence[str]:
    """The name of a column or a field in it, without the alias of the table."""
    parts = split_name(name)
    folded = {alias.lower() for alias in aliases}
    has_alias = len(parts) > 1 and parts[0].lower() in folded and parts[0] not in schema
    return parts[1:] if has_alias else parts


def _resolve(name: str, schema: StructType, aliases: Sequence[str]) -> tuple[Path, DataType]:
    parts = name_parts(name, schema, aliases)
    path: list[str] = []
    data_type: DataType = schema
    for part in parts:
        field = data_type.find(part) if isinstance(data_type, StructType) else None
        if field is None:
            raise _unknown(name, part, data_type)
        path.append(field.name)
        data_type = field.data_type
    return tuple(path), data_type


def _unknown(name: str, part: str, inside: DataType) -> SchemaError:
    known = list(inside.names) if isinstance(inside, StructType) else []
    near = get_close_matches(part, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {known}"
    return SchemaError(
        f"the table has no column {name!r}",
        hint=hint,
        condition="UNRESOLVED_COLUMN.WITH_SUGGESTION",
    )


def is_generated(field: StructField) -> bool:
    return "delta.generationExpression" in field.metadata
