"""Streams from Delta tables: what `DeltaSource.java` and `DeltaStream.java` ask."""

from __future__ import annotations

from functools import partial
from typing import Any

from pyspark.sql import SparkSession

from lakebed.log.table_log import TableLog
from lakebed.sessions.native.question import JavaObject, Question
from lakebed.sessions.native.read_plans import SCHEMA
from lakebed.settings.setting_table import CHANGES_OUT_OF_RANGE
from lakebed.spark.columns.spark_types import type_json, visible_schema
from lakebed.spark.errors.jvm_errors import reported_to
from lakebed.spark.internals.jvm import Jvm
from lakebed.spark.plane_selection import plane_for
from lakebed.spark.session.timestamp_text import millis_of
from lakebed.spark.stores.location import open_location
from lakebed.spec.time_travel_names import parse_time_travel
from lakebed.streaming.batch_frames import batch_frame
from lakebed.streaming.source.admission import Limit
from lakebed.streaming.source.stream_options import (
    StreamOptions,
    stream_option_names,
    time_travel,
)
from lakebed.streaming.source.table_stream import TableStream


def stream_schema(asked: Question) -> str:
    """The columns of a stream, when its query is analyzed."""
    return _schema(_opened(asked)[0])


def open_stream(asked: Question) -> RunningStream:
    """A stream of a query that starts."""
    stream, root = _opened(asked)
    return RunningStream(asked.session, stream, root, _store_options(asked))


def _opened(asked: Question) -> tuple[TableStream, str]:
    session = asked.session
    given = {k: v for k, v in asked.options.items() if k != SCHEMA}
    beyond = CHANGES_OUT_OF_RANGE.of(session)
    options = StreamOptions.of(given, partial(millis_of, session), allows_beyond=beyond)
    store, root = open_location(session, asked.path, _store_options(asked))
    log = TableLog(store)
    if not asked.request["is_name"] and parse_time_travel(asked.path) and not log.exists():
        raise time_travel(f"the path {asked.path!r}")
    return TableStream(log.snapshot(), options), root


def _store_options(asked: Question) -> dict[str, str]:
    own = stream_option_names()
    return {k: v for k, v in asked.options.items() if k.lower() not in own and k != SCHEMA}


def _schema(stream: TableStream) -> str:
    return type_json(visible_schema(stream.schema))


class RunningStream:
    """Called by `DeltaStream.java`, which keeps it for as long as the query runs."""

    def __init__(
        self, session: SparkSession, stream: TableStream, root: str, options: dict[str, str]
    ) -> None:
        self._session = session
        self._stream = stream
        self._root = root
        self._options = options

    def apply(self, request: str, values: JavaObject) -> Any:
        """The answer to a question; `values` are texts, and null where there is none."""
        with reported_to(Jvm.of(self._session)):
            given = [None if each is None else str(each) for each in values]
            return getattr(self, f"_{request}")(*given)

    class Java:
        implements = ("java.util.function.BiFunction",)

    def _schema(self) -> str:
        return _schema(self._stream)

    def _limit(self) -> str:
        """The limits of a batch, as `_latest` takes them."""
        limit = self._stream.options.limit
        return f"{limit.max_files or ''},{limit.max_bytes or ''}"

    def _prepare(self) -> None:
        self._stream.prepare_available_now()

    def _latest(self, start: str | None, limit: str | None) -> str | None:
        """Without a limit a batch takes everything."""
        return self._stream.latest_offset(start, None if limit is None else _parsed(limit))

    def _batch(self, start: str | None, end: str) -> JavaObject:
        store = self._stream.snapshot.store
        plane = plane_for(self._session, store, self._root, self._options)
        return batch_frame(plane, store, self._stream.batch(start, end))._jdf

    def _commit(self, end: str) -> None:
        self._stream.commit(end)


def _parsed(limit: str) -> Limit:
    files, size = limit.split(",")
    return Limit(int(files) if files else None, int(size) if size else None)
