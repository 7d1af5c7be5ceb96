"""Streams from Delta tables: what `DeltaSource.java` and `DeltaStream.java` ask."""

from __future__ import annotations

from functools import partial
from typing import Any

import orjson
from pyspark.sql import SparkSession

from lakebed.errors import InvalidArgumentError, StorageError
from lakebed.log.table_log import TableLog
from lakebed.sessions.native.question import JavaObject, Question
from lakebed.sessions.native.read_plans import SCHEMA
from lakebed.settings.setting_table import (
    CHANGES_OUT_OF_RANGE,
    MERGE_SCHEMA_CHANGES,
    SCHEMA_LOCATION_ANYWHERE,
)
from lakebed.spark.columns.spark_types import type_json, visible_schema
from lakebed.spark.errors.jvm_errors import reported_to
from lakebed.spark.internals.jvm import Jvm
from lakebed.spark.internals.startup.bridge import java_value
from lakebed.spark.plane_selection import plane_for
from lakebed.spark.session.timestamp_text import millis_of
from lakebed.spark.stores.location import open_location
from lakebed.spec.time_travel_names import parse_time_travel
from lakebed.streaming.batch_frames import batch_frame
from lakebed.streaming.source.admission import Limit
from lakebed.streaming.source.query_checkpoint import QueryCheckpoint
from lakebed.streaming.source.schema.schema_evolution import check_allowed, merged_entry
from lakebed.streaming.source.schema.schema_log import SchemaLog
from lakebed.streaming.source.source_log import SourceLog
from lakebed.streaming.source.stream_options import (
    StreamOptions,
    stream_option_names,
    time_travel,
)
from lakebed.streaming.source.table_stream import TableStream


def stream_schema(asked: Question) -> str:
    """The columns of a stream, when its query is analyzed."""
    stream = _Opening(asked)
    log = stream.schema_log()
    if log is not None and log.current is not None and MERGE_SCHEMA_CHANGES.of(asked.session):
        commits = SourceLog(stream.snapshot.store, log.current.table_id, fails_on_data_loss=False)
        merged = merged_entry(commits, log.current)
        if merged is not None:
            log.write(merged, replaces=True)
    return _schema(TableStream(stream.snapshot, stream.options, log))


def open_stream(asked: Question) -> RunningStream:
    """A stream of a query that starts."""
    opening = _Opening(asked)
    session, path = asked.session, str(asked.request["metadata"])
    log = opening.schema_log()
    if log is not None:
        _check_location(session, str(opening.options.schema_location), path)
        log.check_source(path)
        check_allowed(log, opening.options, lambda name: session.conf.get(name, None), path)
    checkpoint = _checkpoint(session, path)
    stream = TableStream(opening.snapshot, opening.options, log, path, checkpoint)
    return RunningStream(session, stream, opening.root, _store_options(asked))


def _checkpoint(session: SparkSession, source_path: str) -> QueryCheckpoint:
    location, _, source = source_path.rpartition("/sources/")
    try:
        return QueryCheckpoint(open_location(session, location, {})[0], f"sources/{source}")
    except StorageError:
        # Spark may have its checkpoints where Lakebed has no store.
        return QueryCheckpoint()


class _Opening:
    """The table that a stream reads, and what was asked of the stream."""

    def __init__(self, asked: Question) -> None:
        session, self._session = asked.session, asked.session
        given = {k: v for k, v in asked.options.items() if k != SCHEMA}
        beyond = CHANGES_OUT_OF_RANGE.of(session)
        self.options = StreamOptions.of(given, partial(millis_of, session), allows_beyond=beyond)
        store, self.root = open_location(session, asked.path, _store_options(asked))
        table = TableLog(store)
        if not asked.request["is_name"] and parse_time_travel(asked.path) and not table.exists():
            raise time_travel(f"the path {asked.path!r}")
        self.snapshot = table.snapshot()

    def schema_log(self) -> SchemaLog | None:
        location = self.options.schema_location
        if location is None:
            return None
        store, _ = open_location(self._session, location, {})
        return SchemaLog(store, self.snapshot.metadata.id, self.options.tracking_id)


def _check_location(session: SparkSession, location: str, source_path: str) -> None:
    """A log elsewhere could outlive the checkpoint, or be that of another query."""
    checkpoint = source_path.rpartition("/sources/")[0]
    below = open_location(session, location, {})[0].url
    above = open_location(session, checkpoint, {})[0].url
    if not f"{below}/".startswith(f"{above.rstrip('/')}/"):
        if SCHEMA_LOCATION_ANYWHERE.of(session):
            return
        raise InvalidArgumentError(
            f"the schema location {location} is not below the checkpoint location {checkpoint}",
            hint="put schemaTrackingLocation into the checkpoint location of the query",
        )


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
        batch = self._stream.batch(start, end)
        self._stream.check_files(batch)
        return java_value(batch_frame(plane, store, batch))

    def _commit(self, end: str) -> None:
        self._stream.commit(end)

    def _metrics(self, consumed: str | None) -> str:
        return orjson.dumps(self._stream.backlog(consumed)).decode()


def _parsed(limit: str) -> Limit:
    files, size = limit.split(",")
    return Limit(int(files) if files else None, int(size) if size else None)
