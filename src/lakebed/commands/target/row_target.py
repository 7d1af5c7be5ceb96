"""The table whose rows a command changes, in a session of Spark."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import Column, SparkSession

from lakebed.errors import PredicateError
from lakebed.expressions import Expression, parse_predicate
from lakebed.expressions.time_zones import depends_on_zone, is_utc
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.settings.setting_table import AUTO_MERGE, TXN_APP_ID, TXN_VERSION, USER_METADATA
from lakebed.spark.columns.bound_columns import BoundColumns, TableFrames
from lakebed.spark.columns.projection import quote
from lakebed.spark.plane.plane import Plane
from lakebed.spark.session.session_kind import functions_of, is_connect
from lakebed.spark.session.session_settings import all_settings

_QUOTES = ("'", '"', "`")


@dataclass(frozen=True)
class RowTarget:
    """`alias` is the name by which conditions call the table. `row_level` False makes two changes
    of one file conflict whatever their rows, as in open-source Delta. `frames` are the DataFrames
    that the table gave out, whose columns stand for those of the table.
    """

    session: SparkSession
    log: TableLog
    plane: Plane
    alias: str | None = None
    row_level: bool = True
    most_rows: int | None = None
    """Of how many rows the driver holds bitmaps, if not as many as `row_positions` says."""
    frames: TableFrames = field(default_factory=TableFrames, repr=False, compare=False)

    def most(self, usual: int) -> int:
        return usual if self.most_rows is None else self.most_rows

    @property
    def user_metadata(self) -> str | None:
        """What the session wants its commits to carry."""
        return USER_METADATA.of(self.session)

    @property
    def txn(self) -> tuple[str, int] | None:
        """The application and the version that the session gives its next change, if both."""
        settings = all_settings(self.session)
        app_id, version = TXN_APP_ID.read(settings), TXN_VERSION.read(settings)
        return None if app_id is None or version is None else (app_id, version)

    @property
    def merges_schemas(self) -> bool:
        return AUTO_MERGE.of(self.session)

    def translated(self, snapshot: Snapshot, value: str | Column | None) -> str | Column | None:
        """A condition or value whose columns are names, whatever DataFrame they were taken from."""
        if value is None or isinstance(value, str):
            return value
        f = functions_of(self.session)
        bound = BoundColumns(
            self.session, self.frames, snapshot.schema, lambda field: f.col(quote(field.name))
        )
        return bound.translated(value)

    def all_translated(
        self, snapshot: Snapshot, values: Mapping[str, str | Column]
    ) -> dict[str, str | Column]:
        found = {name: self.translated(snapshot, value) for name, value in values.items()}
        return {name: value for name, value in found.items() if value is not None}

    def predicate(self, snapshot: Snapshot, condition: str | Column | None) -> Expression | None:
        """The condition as Lakebed reads it; None if only Spark knows which rows it is true for."""
        text = self._without_alias(snapshot, self._text(condition))
        if text is None:
            return None
        try:
            found = parse_predicate(text, snapshot.schema)
        except PredicateError:
            return None
        zone = str(self.session.conf.get("spark.sql.session.timeZone"))
        return found if is_utc(zone) or not depends_on_zone(found) else None

    def _text(self, condition: str | Column | None) -> str | None:
        if condition is None or isinstance(condition, str) or is_connect(self.session):
            return condition if isinstance(condition, str) else None
        from lakebed.spark.internals.classic_columns import column_sql

        return column_sql(self.session, condition)

    def _without_alias(self, snapshot: Snapshot, condition: str | None) -> str | None:
        """None where a dot may be that of the alias or that of a struct."""
        if self.alias is None or condition is None:
            return condition
        if self.alias in snapshot.schema or any(mark in condition for mark in _QUOTES):
            return None
        return re.sub(rf"(?<![\w.]){re.escape(self.alias)}\.", "", condition, flags=re.IGNORECASE)
