"""Values that a table gives by itself (PROTOCOL: Generated Columns, Default Columns)."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column, DataFrame, SparkSession

from lakebed.expressions.allowed import ExpressionKind
from lakebed.spark.columns.projection import quote, spark_type
from lakebed.spark.columns.sql_expressions import table_expression
from lakebed.spark.session.session_kind import functions_of
from lakebed.spec.columns.column_metadata import current_default, generation_expression
from lakebed.spec.schema import StructField, StructType


def default_value(owner: SparkSession | DataFrame, field: StructField) -> Column:
    """What a column has in a row that gives it no value."""
    default = current_default(field)
    value: Column = (
        functions_of(owner).lit(None)
        if default is None
        else table_expression(owner, default, ExpressionKind.DEFAULT, field.name, ())
    )
    return value.cast(spark_type(field.data_type))


def generated_value(
    owner: SparkSession | DataFrame, field: StructField, schema: StructType
) -> Column:
    """What a generated column has, by the other columns of the row."""
    sql = generation_expression(field)
    assert sql is not None
    value = table_expression(owner, sql, ExpressionKind.GENERATED, field.name, schema)
    return value.cast(spark_type(field.data_type))


def with_generated(
    rows: DataFrame, schema: StructType, is_given: Callable[[str], bool]
) -> DataFrame:
    """The columns of the table; generated ones that are not given are computed."""
    f = functions_of(rows)
    columns = []
    for field in schema.fields:
        value = f.col(quote(field.name))
        if generation_expression(field) is not None and not is_given(field.name):
            value = generated_value(rows, field, schema).alias(field.name)
        columns.append(value)
    return rows.select(*columns)
