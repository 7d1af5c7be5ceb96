"""What a user asked of a read: where the table is, which version, or which changes.

Time travel as in delta-spark: the options versionAsOf and timestampAsOf, or `path@v3` and
`path@20260131120000000` at the end of a path. The option readChangeFeed asks for changes instead.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from lakebed.errors import InvalidArgumentError
from lakebed.log.change_feed.changes import read_changes
from lakebed.log.table_log import TableLog
from lakebed.settings.option_table import TIMESTAMP_AS_OF, VERSION_AS_OF
from lakebed.settings.setting_table import CHANGES_OUT_OF_RANGE, PIN_DATAFRAMES
from lakebed.spark.plane_selection import plane_for
from lakebed.spark.read.change_feed import (
    OPTIONS,
    asked_range,
    asks_for_changes,
    change_feed,
    time_travel,
)
from lakebed.spark.read.partition_folders import find_partition
from lakebed.spark.session.timestamp_text import millis_of
from lakebed.spark.stores.location import open_location
from lakebed.spec.time_travel_names import parse_time_travel


def follows_tables(spark: SparkSession) -> bool:
    """Whether DataFrames read the newest version whenever they run, which is the default."""
    return not PIN_DATAFRAMES.of(spark)


@dataclass
class ReadRequest:
    """What a user asked of a reader. Names of options are taken in any case, as in Spark."""

    format: str | None = None
    has_schema: bool = False
    timestamp_millis: int | None = None
    """Milliseconds since 1970; replaces the option timestampAsOf."""
    _options: dict[str, tuple[str, str]] = field(default_factory=dict)

    def set(self, key: str, value: Any) -> None:
        if value is None:
            self._options.pop(key.lower(), None)
        else:
            self._options[key.lower()] = (key, _text(value))

    def get(self, key: str) -> str | None:
        found = self._options.get(key.lower())
        return None if found is None else found[1]

    def options(self) -> dict[str, str]:
        """All of them, under the names that the user gave."""
        return dict(self._options.values())

    def load(self, spark: SparkSession, path: Any = None, *, is_exact: bool = False) -> DataFrame:
        """With `is_exact` the path names no version, whatever it ends with."""
        if self.has_schema:
            raise InvalidArgumentError(
                "a Delta table has a schema; another cannot be given when it is read",
                hint="leave the schema out, and select or cast the columns of the DataFrame",
            )
        if asks_for_changes(self.get):
            return self._load_changes(spark, self._path(path), is_exact)
        location, version, millis = self._when(spark, self._path(path), is_exact)
        options = dict(self._other_options())
        found = None if is_exact else find_partition(spark, location, options)
        if found is not None:
            location = found.table
        store, root = open_location(spark, location, options)
        snapshot = TableLog(store).snapshot(version, millis)
        is_time_travel = version is not None or millis is not None
        plane = plane_for(spark, store, root, options)
        follows = not is_time_travel and follows_tables(spark)
        frame = plane.scan(snapshot, options, follows=follows, is_time_travel=is_time_travel)
        return frame if found is None else found.rows(frame, snapshot)

    def _load_changes(self, spark: SparkSession, path: str, is_exact: bool) -> DataFrame:
        beyond = CHANGES_OUT_OF_RANGE.of(spark)
        asked = asked_range(self.get, lambda text: millis_of(spark, text), allow_beyond=beyond)
        suffix = None if is_exact else parse_time_travel(path)
        if suffix is not None and not self._is_folder(spark, path):
            raise time_travel(f"the path {path!r}")
        options = {k: v for k, v in self._other_options() if k.lower() not in OPTIONS}
        store, root = open_location(spark, path, options)
        changes = read_changes(TableLog(store), asked)
        return change_feed(spark, plane_for(spark, store, root, options), changes, options)

    def _path(self, given: Any) -> str:
        paths = given if isinstance(given, (list, tuple)) else [given or self.get("path")]
        if len(paths) != 1 or not isinstance(paths[0], (str, os.PathLike)):
            raise InvalidArgumentError(
                f"{given!r} is not the path of a table",
                hint='read one table at a time: spark.read.format("delta").load("/data/orders")',
            )
        return os.fspath(paths[0])

    def _when(
        self, spark: SparkSession, path: str, is_exact: bool
    ) -> tuple[str, int | None, int | None]:
        """The path, and the version or the time in milliseconds, if one is asked for."""
        version, timestamp = VERSION_AS_OF.read(self.get), TIMESTAMP_AS_OF.read(self.get)
        if version is not None and timestamp is not None:
            raise InvalidArgumentError(
                "give versionAsOf or timestampAsOf, not both", condition="DELTA_ONEOF_IN_TIMETRAVEL"
            )
        suffix = None if is_exact else parse_time_travel(path)
        if suffix is not None and not self._is_folder(spark, path):
            if version is not None or timestamp is not None:
                raise InvalidArgumentError(
                    f"{path!r} names a version, and an option names one too",
                    hint="leave out one of them",
                    condition="DELTA_UNSUPPORTED_TIME_TRAVEL_MULTIPLE_FORMATS",
                )
            path, timestamp = suffix.table, suffix.timestamp
            version = None if suffix.version is None else int(suffix.version)
        if self.timestamp_millis is not None:
            return path, None, self.timestamp_millis
        if version is not None:
            return path, version, None
        return path, None, None if timestamp is None else millis_of(spark, timestamp)

    def _is_folder(self, spark: SparkSession, path: str) -> bool:
        """Whether the name with the @ in it is a table of its own."""
        store, _ = open_location(spark, path, dict(self._other_options()))
        return TableLog(store).exists()

    def _other_options(self) -> Iterator[tuple[str, str]]:
        for folded, pair in self._options.items():
            if folded not in _OWN:
                yield pair


_OWN = {"path", VERSION_AS_OF.name.lower(), TIMESTAMP_AS_OF.name.lower()}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
