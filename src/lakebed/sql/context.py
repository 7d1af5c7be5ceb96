"""What running a statement needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession

from lakebed.spark.columns.sql_expressions import sql_column
from lakebed.spark.session.arrow_frames import arrow_frame
from lakebed.sql.markers import Values
from lakebed.sql.statement import Slice


@dataclass(frozen=True)
class SqlContext:
    """`sql` is the whole statement. Its markers of parameters have values in `values`."""

    session: SparkSession
    sql: str
    values: Values | None = None

    def column(self, text: str, *parts: Slice) -> Column:
        """An expression, made of parts of the statement."""
        found = None if self.values is None else self.values.column(text, parts)
        return sql_column(self.session, text) if found is None else found

    def query(self, text: str, *parts: Slice) -> DataFrame:
        """The rows of a query, made of parts of the statement."""
        found = None if self.values is None else self.values.query(text, parts)
        return self.session.sql(text) if found is None else found

    def values_in(self, *parts: Slice) -> list[Any]:
        """The values for the markers in parts of the statement."""
        return [] if self.values is None else self.values.python_values_in(parts)

    def frame(self, rows: pa.Table) -> DataFrame:
        """What a statement returns, as a DataFrame."""
        return arrow_frame(self.session, rows)

    def empty(self) -> DataFrame:
        """What statements without a result return, as in Spark."""
        return self.session.createDataFrame([], "")
