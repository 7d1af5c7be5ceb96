"""Arrow rows as DataFrames."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from lakebed.spark.session.session_kind import is_connect


def arrow_frame(session: SparkSession, rows: pa.Table) -> DataFrame:
    """The rows become part of the plan. Spark Connect takes no table without a row."""
    if rows.num_rows > 0 or not is_connect(session):
        return session.createDataFrame(rows)
    fields = [field.with_nullable(True) for field in rows.schema]
    nothing = [pa.nulls(1, field.type) for field in fields]
    return session.createDataFrame(pa.table(nothing, schema=pa.schema(fields))).limit(0)
