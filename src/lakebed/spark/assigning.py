"""Columns of a query as columns of a table: Spark's store assignment.

As in delta-spark a value is cast to the type of its column, and one that does not fit is an error,
whatever the session says of casts elsewhere.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column, DataFrame

from lakebed.spark.fitting import fitted
from lakebed.spark.functions import functions_of
from lakebed.spark.projection import is_same_type, quote, spark_type
from lakebed.spark.rule_errors import rule_message
from lakebed.spark.types import incoming_schema
from lakebed.spec.schema import ArrayType, DataType, MapType, StructField, StructType

_ANSI = "spark.sql.ansi.enabled"


def assigned_by_name(frame: DataFrame, schema: StructType) -> DataFrame:
    """All columns, those that the table has as its types; names as the query has them."""
    given = incoming_schema(frame)
    return frame.select(
        *[_fitted(frame, each, schema.find(each.name)).alias(each.name) for each in given.fields]
    )


def assigned_by_position(frame: DataFrame, targets: list[StructField]) -> DataFrame:
    """The columns under the names and as the types of the targets; more than these stay."""
    names = [target.name for target in targets]
    extra = frame.columns[len(targets) :]
    numbered = frame.toDF(*[f"c{i}" for i in range(len(frame.columns))])
    given = incoming_schema(numbered)
    wanted = [*targets, *[None] * len(extra)]
    columns = [
        _fitted(numbered, field, target).alias(name)
        for field, target, name in zip(given.fields, wanted, [*names, *extra], strict=True)
    ]
    return numbered.select(*columns)


def _fitted(frame: DataFrame, given: StructField, target: StructField | None) -> Column:
    f = functions_of(frame)
    value = f.col(quote(given.name))
    if target is None:
        return value
    if _is_strict(frame) or _has_parts(target.data_type):
        return fitted(f, value, given.data_type, target.data_type)
    return _checked(f, value, given, target)


def _is_strict(frame: DataFrame) -> bool:
    return str(frame.sparkSession.conf.get(_ANSI, "true")).lower() == "true"


def _has_parts(data_type: DataType) -> bool:
    return isinstance(data_type, StructType | ArrayType | MapType)


def _checked(f: Any, value: Column, given: StructField, target: StructField) -> Column:
    """A cast that fails where it would lose the value."""
    if is_same_type(given.data_type, target.data_type):
        return value
    kind = spark_type(target.data_type)
    cast = value.try_cast(kind)
    head, tail = rule_message(f"type of column {target.name}, {target.data_type}")
    failed = f.raise_error(f.concat(f.lit(head), value.cast("string"), f.lit(tail))).cast(kind)
    return f.when(value.isNotNull() & cast.isNull(), failed).otherwise(cast)
