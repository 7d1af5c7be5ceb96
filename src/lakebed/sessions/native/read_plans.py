"""Reads: a table as a plan, and its description for Spark's catalog."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
from pyspark.sql import DataFrame

from lakebed.commands.target.clustering_columns import clustering_columns
from lakebed.errors import InvalidArgumentError
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.sessions.native.question import Question
from lakebed.spark.catalog.mirrored_catalog import catalog_url
from lakebed.spark.catalog.session_catalog import find, sync_names
from lakebed.spark.catalog.table_names import delta_location
from lakebed.spark.read.read_request import ReadRequest
from lakebed.spark.stores.location import open_location
from lakebed.spec.columns.column_mapping import strip
from lakebed.spec.features import supported_features
from lakebed.spec.properties import FEATURE_PREFIX
from lakebed.spec.schema import schema_to_json

SCHEMA = "__lakebed_schema"
MICROS = "__lakebed_micros"
"""Options that the Java classes add."""


def read(asked: Question) -> DataFrame:
    request = ReadRequest()
    for key, value in asked.options.items():
        if key == SCHEMA:
            request.has_schema = True
        elif key == MICROS:
            request.timestamp_millis = int(value) // 1000
        elif key.lower() != "path":
            request.set(key, value)
    return request.load(asked.session, asked.path, is_exact=bool(asked.request["is_name"]))


def describe(asked: Question) -> str:
    snapshot = opened(asked)
    return orjson.dumps(
        {
            "schema": schema_to_json(strip(snapshot.schema)),
            "partitionBy": list(snapshot.partition_columns),
            "clusterBy": [list(path) for path in clustering_columns(snapshot) or ()],
            "properties": _shown_properties(snapshot),
            "comment": snapshot.metadata.description,
            "kind": _kind(asked),
        }
    ).decode()


def _shown_properties(snapshot: Snapshot) -> dict[str, str]:
    """Those that were set, and the protocol as delta-spark shows it."""
    protocol = snapshot.protocol
    shown = dict(snapshot.metadata.configuration)
    shown["delta.minReaderVersion"] = str(protocol.min_reader_version)
    shown["delta.minWriterVersion"] = str(protocol.min_writer_version)
    if protocol.min_writer_version >= 7:
        shown |= {f"{FEATURE_PREFIX}{name}": "supported" for name in supported_features(protocol)}
    return shown


def _kind(asked: Question) -> str | None:
    """Whether an embedded catalog has the table as MANAGED or EXTERNAL."""
    if catalog_url(asked.session) is None or not asked.request["is_name"]:
        return None
    entry = find(asked.session, tuple(asked.request["parts"]))
    return None if entry is None else entry.kind


def opened(asked: Question) -> Snapshot:
    """The newest version of the table that a question is about."""
    store, _ = open_location(asked.session, asked.path, {})
    return TableLog(store).snapshot()


def exists(asked: Question) -> bool:
    store, _ = open_location(asked.session, asked.path, {})
    return TableLog(store).exists()


def sync(asked: Question) -> None:
    sync_names(asked.session)


def table_changes(asked: Question) -> DataFrame:
    """The function table_changes and its relative for paths."""
    values: list[Any] = asked.request["arguments"]
    request = _changes_request(values[1:])
    if asked.request["is_path"]:
        return request.load(asked.session, values[0])
    location = delta_location(asked.session, str(values[0]))
    return request.load(asked.session, location, is_exact=True)


def _changes_request(given: Sequence[int | str | None]) -> ReadRequest:
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
