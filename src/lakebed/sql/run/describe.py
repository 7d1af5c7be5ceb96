"""DESCRIBE HISTORY and DESCRIBE DETAIL."""

from __future__ import annotations

from pyspark.sql import DataFrame

from lakebed.spark.session.session_kind import functions_of
from lakebed.sql.context import SqlContext
from lakebed.sql.grammar.describe import DescribeDetail, DescribeHistory
from lakebed.sql.open_tables import open_table


def run_history(context: SqlContext, statement: DescribeHistory) -> DataFrame | None:
    found = open_table(context, statement)
    return None if found is None else found.delta().history(statement.limit)


def run_detail(context: SqlContext, statement: DescribeDetail) -> DataFrame | None:
    """With the name that the statement calls the table by, as in delta-spark."""
    found = open_table(context, statement)
    if found is None:
        return None
    detail = found.delta().detail()
    if found.ref.path is not None:
        return detail
    f = functions_of(detail)
    name = ".".join(found.ref.parts)
    return detail.withColumn("name", f.coalesce(f.col("name"), f.lit(name)))
