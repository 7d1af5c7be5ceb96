"""Streams over tables that are written action by action, without Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from lakebed.log.listing.commit_times import to_millis
from lakebed.log.table_log import TableLog
from lakebed.spec.actions import Action, Add, Remove
from lakebed.storage import Store
from lakebed.streaming.source.admission import Limit
from lakebed.streaming.source.schema.schema_log import SchemaLog
from lakebed.streaming.source.stream_options import StreamOptions
from lakebed.streaming.source.table_stream import SourceBatch, TableStream
from testkit.tables.log_tables import file

TABLE = "f0e1d2c3"
NO_LIMIT = Limit()
"""Then the options of the stream count."""


def open_stream(store: Store, log: SchemaLog | None = None, **options: Any) -> TableStream:
    """As a run of a query opens it."""
    given = {name: _text(value) for name, value in options.items()}
    snapshot = TableLog(store).snapshot()
    return TableStream(snapshot, StreamOptions.of(given, to_millis), log, "/checkpoint/sources/0")


def offset(version: int, index: int = -1, *, initial: bool = False) -> str:
    return orjson.dumps(
        {
            "sourceVersion": 3 if index < -1 else 1,
            "reservoirId": TABLE,
            "reservoirVersion": version,
            "index": index,
            "isStartingVersion": initial,
        }
    ).decode()


def batches(
    stream: TableStream, start: str | None = None, limit: Limit | None = NO_LIMIT
) -> Iterator[tuple[str, list[str]]]:
    """Each offset and the names of the files up to it, until nothing is new."""
    while True:
        end = stream.latest_offset(start, limit)
        if end is None or end == start:
            return
        yield end, names(stream.batch(start, end))
        stream.commit(end)
        start = end


def names(batch: SourceBatch) -> list[str]:
    return [add.path.removesuffix(".parquet") for add in batch.adds]


def read(
    stream: TableStream, start: str | None = None, limit: Limit | None = NO_LIMIT
) -> list[str]:
    return [name for _, some in batches(stream, start, limit) for name in some]


def places(found: Sequence[tuple[str, list[str]]]) -> list[tuple[int, int, bool]]:
    """Version, index and whether it is initial, of each offset."""
    raw = [orjson.loads(text) for text, _ in found]
    return [(o["reservoirVersion"], o["index"], o["isStartingVersion"]) for o in raw]


def removed(name: int | str, *, data_change: bool = True) -> Remove:
    add = file(name)
    return Remove(add.path, data_change, 1, True, {}, add.size)


def rewritten(name: int | str) -> Add:
    """A file of OPTIMIZE, which has no new rows."""
    return file(name, data_change=False)


def compaction(old: int | str, new: int | str) -> list[Action]:
    return [removed(old, data_change=False), rewritten(new)]


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
