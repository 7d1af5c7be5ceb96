"""Converting columns of a DataFrame to the types of a table, at every depth and by name.

Only conversions that lose nothing come here: `spec.schema_evolution` has refused the others. Texts
of limited length are as Spark stores them: `char(n)` padded, neither longer than n.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import Column

from lakebed.spark.projection import is_same_type, spark_type
from lakebed.spark.rule_errors import rule_message
from lakebed.spec.column_metadata import LengthLimit, length_limits
from lakebed.spec.schema import (
    ArrayType,
    DataType,
    MapType,
    Path,
    StructField,
    StructType,
    render_path,
)


def fitted(f: Any, value: Column, given: DataType, wanted: DataType) -> Column:
    """The value as the table's type. `f` are Spark's functions."""
    if is_same_type(given, wanted):
        return value
    if isinstance(given, StructType) and isinstance(wanted, StructType):
        parts = [_part(f, value, given, field) for field in wanted.fields]
        null = f.lit(None).cast(spark_type(wanted))
        return f.when(value.isNotNull(), f.struct(*parts)).otherwise(null)
    if isinstance(given, ArrayType) and isinstance(wanted, ArrayType):
        inner = (given.element_type, wanted.element_type)
        return f.transform(value, lambda element: fitted(f, element, *inner))
    if isinstance(given, MapType) and isinstance(wanted, MapType):
        return _fitted_map(f, value, given, wanted)
    return value.cast(spark_type(wanted))


def limited(f: Any, value: Column, field: StructField) -> Column:
    """The value with every text of limited length in it as it is to be stored."""
    limits = length_limits(field)
    return _limited(f, value, field.data_type, (field.name,), (), limits) if limits else value


def _part(f: Any, value: Column, given: StructType, wanted: StructField) -> Column:
    source = given.find(wanted.name)
    if source is None:
        return f.lit(None).cast(spark_type(wanted.data_type)).alias(wanted.name)
    part = value.getField(source.name)
    return fitted(f, part, source.data_type, wanted.data_type).alias(wanted.name)


def _fitted_map(f: Any, value: Column, given: MapType, wanted: MapType) -> Column:
    if not is_same_type(given.value_type, wanted.value_type):
        values = (given.value_type, wanted.value_type)
        value = f.transform_values(value, lambda _, each: fitted(f, each, *values))
    if not is_same_type(given.key_type, wanted.key_type):
        keys = (given.key_type, wanted.key_type)
        value = f.transform_keys(value, lambda each, _: fitted(f, each, *keys))
    return value


def _limited(
    f: Any,
    value: Column,
    data_type: DataType,
    name: Path,
    path: Path,
    limits: Mapping[Path, LengthLimit],
) -> Column:
    if path in limits:
        return _text(f, value, limits[path], render_path((*name, *path)))
    if not any(known[: len(path)] == path for known in limits):
        return value

    def inside(part: Column, part_type: DataType, step: str) -> Column:
        return _limited(f, part, part_type, name, (*path, step), limits)

    if isinstance(data_type, StructType):
        parts = [
            inside(value.getField(each.name), each.data_type, each.name).alias(each.name)
            for each in data_type.fields
        ]
        null = f.lit(None).cast(spark_type(data_type))
        return f.when(value.isNotNull(), f.struct(*parts)).otherwise(null)
    if isinstance(data_type, ArrayType):
        return f.transform(value, lambda each: inside(each, data_type.element_type, "element"))
    if isinstance(data_type, MapType):
        kinds = (data_type.key_type, data_type.value_type)
        value = f.transform_values(value, lambda _, each: inside(each, kinds[1], "value"))
        return f.transform_keys(value, lambda each, _: inside(each, kinds[0], "key"))
    return value


def _text(f: Any, value: Column, limit: LengthLimit, name: str) -> Column:
    """Blanks beyond the limit are cut off; anything else makes the job fail."""
    head, tail = rule_message(f"limit of column {name}, {limit}")
    failed = f.raise_error(f.concat(f.lit(head), value, f.lit(tail))).cast("string")
    length = f.lit(limit.length)
    stored = f.rpad(value, limit.length, " ") if limit.padded else f.substring(value, 1, length)
    return f.when(f.length(f.rtrim(value)) > length, failed).otherwise(stored)
