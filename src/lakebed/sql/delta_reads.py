"""A table of a query as a DataFrame: at a version, or the changes of some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession

from lakebed.errors import InvalidArgumentError, SqlError
from lakebed.spark.read_request import ReadRequest
from lakebed.spark.session_catalog import not_found
from lakebed.sql.same_versions import once

VERSION = "lakebed.versionAsOf"
TIMESTAMP = "lakebed.timestampAsOf"
"""Options of tables in views and functions that Spark Connect made: see `sql.definitions`."""


@dataclass(frozen=True)
class DeltaRead:
    """`location` is where the table is, `path` is one that the user wrote, such as `/data@v3`.

    Both are None if there is no such table. `changes` are the arguments of table_changes behind
    the first: whole numbers are versions, texts are times.
    """

    parts: Sequence[str]
    location: str | None = None
    path: str | None = None
    version: str | None = None
    timestamp: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    changes: Sequence[int | str | None] | None = None

    def frame(self, session: SparkSession, sql: str, position: int | None) -> DataFrame:
        """`sql` and `position` are where the statement names it."""
        return once(repr(self), lambda: self._frame(session, sql, position))

    def _frame(self, session: SparkSession, sql: str, position: int | None) -> DataFrame:
        request = ReadRequest()
        for key, value in self.options.items():
            is_version = key in (VERSION, TIMESTAMP)
            request.set(key.removeprefix("lakebed.") if is_version else key, value)
        if self.changes is not None:
            self._ask_for_changes(request, sql, position)
        if self.location is None and self.path is None:
            raise not_found(session, self.parts)
        self._ask_for_version(request, sql, position)
        if self.path is not None:
            return request.load(session, self.path)
        return request.load(session, self.location, is_exact=True)

    def _ask_for_version(self, request: ReadRequest, sql: str, position: int | None) -> None:
        for option, value in (("versionAsOf", self.version), ("timestampAsOf", self.timestamp)):
            if value is None:
                continue
            if request.get("versionAsOf") or request.get("timestampAsOf"):
                raise SqlError(
                    "two versions of the table are asked for",
                    sql=sql,
                    position=position,
                    hint="leave out one of them",
                )
            request.set(option, value)

    def _ask_for_changes(self, request: ReadRequest, sql: str, position: int | None) -> None:
        given = self.changes or ()
        if len(given) not in (1, 2) or None in given or not self.parts:
            raise SqlError(
                "table_changes takes a table, a first version or time, and maybe a last one",
                sql=sql,
                position=position,
                hint="write it as table_changes('orders', 3) or table_changes('orders', 3, 5)",
            )
        request.set("readChangeFeed", True)
        for end, value in zip(("starting", "ending"), given, strict=False):
            kind = "Version" if isinstance(value, int) else "Timestamp"
            request.set(f"{end}{kind}", value)


def changes_request(given: Sequence[int | str | None]) -> ReadRequest:
    """The arguments of table_changes behind the table: numbers are versions, strings times."""
    if len(given) not in (1, 2) or None in given:
        raise InvalidArgumentError(
            "table_changes takes a table, a first version or time, and maybe a last one",
            hint="write it as table_changes('orders', 3) or table_changes('orders', 3, 5)",
        )
    request = ReadRequest()
    request.set("readChangeFeed", True)
    for end, value in zip(("starting", "ending"), given, strict=False):
        kind = "Version" if isinstance(value, int) else "Timestamp"
        request.set(f"{end}{kind}", value)
    return request
