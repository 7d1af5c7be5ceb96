"""The values of columns that rows are arranged by, as Columns of Spark."""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column

from lakebed.commands.optimize.curve_columns import CurveColumn
from lakebed.spark.columns.projection import quote
from lakebed.spec.schema import BINARY, BOOLEAN, DATE, TIMESTAMP, TIMESTAMP_NTZ


def value_of(column: CurveColumn, f: Any) -> Column:
    """As `CurveColumn.arrow_value`, but for bytes, which have an order of their own there."""
    value = f.col(".".join(map(quote, column.path)))
    if column.data_type == DATE:
        return f.unix_date(value).cast("long")
    if column.data_type in (TIMESTAMP, TIMESTAMP_NTZ):
        return f.unix_micros(value.cast("timestamp"))
    if column.data_type == BOOLEAN:
        return value.cast("int").cast("long")
    if column.data_type == BINARY:
        return f.hex(value)
    return value.cast(_SPARK_TYPES[column.kind])


_SPARK_TYPES = {"long": "long", "double": "double", "text": "string"}
