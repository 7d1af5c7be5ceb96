"""What running a statement needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from lakebed.spark.arrow_frames import arrow_frame

Arguments = Mapping[str, Any] | Sequence[Any]


@dataclass(frozen=True)
class SqlContext:
    """`sql` is the whole statement, with its parameters filled in already."""

    session: SparkSession
    sql: str
    args: Arguments = field(default_factory=dict)

    def frame(self, rows: pa.Table) -> DataFrame:
        """What a statement returns, as a DataFrame."""
        return arrow_frame(self.session, rows)

    def empty(self) -> DataFrame:
        """What statements without a result return, as in Spark."""
        return self.session.createDataFrame([], "")
