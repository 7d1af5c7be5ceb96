"""The change feed: the options of a read that ask for it, as in delta-spark, and its rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType as SparkStructType

from lakebed.errors import InvalidArgumentError
from lakebed.log.change_feed.change_range import ChangeRange
from lakebed.log.change_feed.changes import Changes
from lakebed.settings.option_table import (
    ENDING_TIMESTAMP,
    ENDING_VERSION,
    READ_CHANGE_DATA,
    READ_CHANGE_FEED,
    STARTING_TIMESTAMP,
    STARTING_VERSION,
    TIMESTAMP_AS_OF,
    VERSION_AS_OF,
)
from lakebed.spark.columns.projection import quote
from lakebed.spark.columns.spark_types import visible_schema
from lakebed.spark.plane.plane import Plane
from lakebed.spark.plane.plane_options import ScanOptions

_FLAGS = (READ_CHANGE_FEED, READ_CHANGE_DATA)
_ENDS = (STARTING_VERSION, STARTING_TIMESTAMP, ENDING_VERSION, ENDING_TIMESTAMP)
OPTIONS = frozenset(option.name.lower() for option in (*_FLAGS, *_ENDS))
"""In lower case."""

Get = Callable[[str], str | None]


def asks_for_changes(get: Get) -> bool:
    """`get` gives the value of an option, whatever the case of its name."""
    # Both are read: a wrong value of either is an error.
    asked = [option.read(get) for option in _FLAGS]
    return any(asked)


def asked_range(get: Get, millis: Callable[[str], int], *, allow_beyond: bool) -> ChangeRange:
    """`millis` parses a timestamp as the session does."""
    for option in (VERSION_AS_OF, TIMESTAMP_AS_OF):
        if get(option.name) is not None:
            raise time_travel(f"the option {option.name}")
    starting, ending = STARTING_TIMESTAMP.read(get), ENDING_TIMESTAMP.read(get)
    return ChangeRange(
        starting_version=STARTING_VERSION.read(get),
        starting_time=None if starting is None else millis(starting),
        ending_version=ENDING_VERSION.read(get),
        ending_time=None if ending is None else millis(ending),
        allow_beyond=allow_beyond,
    )


def time_travel(what: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"the change feed is of a range of versions, but {what} names a single one",
        hint="leave it out, and give startingVersion and endingVersion",
    )


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
    frames = [plane.scan_synthetic(layer) for layer in changes.layers]
    while len(frames) > 1:
        # In pairs: in a chain of unions Spark would analyze the first ones again for each.
        pairs = zip(frames[::2], frames[1::2], strict=False)
        frames = [*(one.union(other) for one, other in pairs), *frames[len(frames) & ~1 :]]
    return frames[0]
