"""Values that a table gives by itself (PROTOCOL: Generated Columns, Default Columns)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import Column, DataFrame

from lakebed.spark.functions import functions_of
from lakebed.spark.projection import quote, spark_type
from lakebed.spec.column_metadata import current_default, generation_expression
from lakebed.spec.schema import StructField, StructType


def default_value(f: Any, field: StructField) -> Column:
    """What a column has in a row that gives it no value. `f` are Spark's functions."""
    default = current_default(field)
    value = f.lit(None) if default is None else f.expr(default)
    return value.cast(spark_type(field.data_type))


def with_generated(
    rows: DataFrame, schema: StructType, is_given: Callable[[str], bool]
) -> DataFrame:
    """The columns of the table; generated ones that are not given are computed."""
    f = functions_of(rows)
    columns = []
    for field in schema.fields:
        sql = generation_expression(field)
        value = f.col(quote(field.name))
        if sql is not None and not is_given(field.name):
            value = f.expr(sql).cast(spark_type(field.data_type)).alias(field.name)
        columns.append(value)
    return rows.select(*columns)
