"""Reads of a folder inside of a table, `orders/day=2026-01-31`: the rows of that partition.

As in delta-spark: the folders say which partition is meant, and the log which files it has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from lakebed.errors import InvalidArgumentError
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.spark.columns.projection import quote
from lakebed.spark.session.session_kind import functions_of
from lakebed.spark.stores.location import open_location
from lakebed.spec.paths import DEFAULT_PARTITION, unescape_name


@dataclass(frozen=True)
class PartitionFolder:
    """`table` is the folder of the table; `values` are those of partition columns, as texts."""

    table: str
    values: Mapping[str, str | None]

    def rows(self, frame: DataFrame, snapshot: Snapshot) -> DataFrame:
        """Those of a scan of the table that are in the partition."""
        known = {name.lower(): name for name in snapshot.partition_columns}
        f = functions_of(frame)
        for name, value in self.values.items():
            if name.lower() not in known:
                raise InvalidArgumentError(
                    f"{self.table} is not partitioned by {name}",
                    hint=f"its partition columns are {list(known.values())}",
                )
            column = f.col(quote(known[name.lower()]))
            frame = frame.where(column.isNull() if value is None else column == f.lit(value))
        return frame


def find_partition(
    spark: SparkSession, path: str, options: Mapping[str, str]
) -> PartitionFolder | None:
    """None where the path has no folder of a partition at its end, or is a table of its own."""
    table, values = _split(path)
    if not values or TableLog(open_location(spark, path, options)[0]).exists():
        return None
    if not TableLog(open_location(spark, table, options)[0]).exists():
        return None
    return PartitionFolder(table, values)


def _split(path: str) -> tuple[str, dict[str, str | None]]:
    table, values = path.rstrip("/"), list[tuple[str, str | None]]()
    while True:
        above, _, folder = table.rpartition("/")
        name, equals, value = folder.partition("=")
        if not above or not equals or not name or not value:
            return table, dict(reversed(values))
        text = unescape_name(value)
        values.append((unescape_name(name), None if text == DEFAULT_PARTITION else text))
        table = above
