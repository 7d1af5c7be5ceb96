"""The change feed as a DataFrame: the rows of all layers of some changes."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType as SparkStructType

from lakebed.log.change_feed.changes import Changes
from lakebed.spark.columns.projection import quote
from lakebed.spark.columns.spark_types import visible_schema
from lakebed.spark.plane.plane import Plane
from lakebed.spark.plane.plane_options import ScanOptions


def change_feed(
    session: SparkSession, plane: Plane, changes: Changes, options: Mapping[str, str]
) -> DataFrame:
    """The columns of the table, then `_change_type`, `_commit_version` and `_commit_timestamp`.

    All layers have these columns in the same order.
    """
    asked = ScanOptions.of(options)
    frame = _rows(session, plane, changes)
    if asked.where is not None:
        frame = frame.where(asked.where)
    if asked.columns is not None:
        frame = frame.select([quote(field.name) for field in asked.picked(changes.schema)])
    return frame


def _rows(session: SparkSession, plane: Plane, changes: Changes) -> DataFrame:
    if not changes.layers:
        schema = SparkStructType.fromJson(visible_schema(changes.schema).to_json())
        return session.createDataFrame([], schema)
    frames = [plane.scan_made(layer) for layer in changes.layers]
    while len(frames) > 1:
        # In pairs: one after the other, Spark would look at the first of many very often.
        pairs = zip(frames[::2], frames[1::2], strict=False)
        frames = [*(one.union(other) for one, other in pairs), *frames[len(frames) & ~1 :]]
    return frames[0]
