"""Streams from Delta tables: files that were appended."""

from __future__ import annotations

from functools import reduce

import orjson
from pyspark.sql import DataFrame

from lakebed.errors import UnsupportedFeatureError
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.sessions.native.question import Question
from lakebed.spark.plane_selection import plane_for
from lakebed.spark.stores.location import open_location
from lakebed.spec.actions import Add, Metadata, Remove


def latest_offset(asked: Question) -> str | None:
    """The newest version, or the one that the query is to end with."""
    store, _ = open_location(asked.session, asked.path, {})
    most = asked.request["most"]
    version = TableLog(store).snapshot().version if most is None else _version(most)
    return orjson.dumps({"version": version}).decode()


def batch(asked: Question) -> DataFrame:
    """All rows of the version that the stream begins with, then those of appended files."""
    store, root = open_location(asked.session, asked.path, {})
    log = TableLog(store)
    snapshot = log.at_version(_version(asked.request["end"]))
    plane = plane_for(asked.session, store, root)
    start = asked.request["start"]
    if start is None:
        return plane.scan(snapshot, {})
    appended = _appended(log, snapshot, _version(start))
    paths = [path for each in appended.values() for path in each]
    if set(paths) <= set(snapshot.files(["path"]).column("path").to_pylist()):
        return plane.scan(snapshot, {}, only=paths)
    # OPTIMIZE has replaced some of them meanwhile: the versions that added them still have them.
    frames = [
        plane.scan(log.at_version(version), {}, only=each)
        for version, each in appended.items()
        if each
    ]
    return reduce(DataFrame.unionAll, frames)


def _version(offset: str) -> int:
    return int(orjson.loads(offset)["version"])


def _appended(log: TableLog, snapshot: Snapshot, start: int) -> dict[int, list[str]]:
    """The paths of new files by the versions that added them."""
    known = log.at_version(start).metadata.schema_string
    found: dict[int, list[str]] = {}
    for version in range(start + 1, snapshot.version + 1):
        found[version] = []
        for action in log.commit_actions(version):
            if isinstance(action, Metadata) and action.schema_string != known:
                raise UnsupportedFeatureError(
                    f"version {version} of {snapshot.store.url} changes the columns of the table",
                    hint="start the stream again from a new checkpoint",
                )
            if isinstance(action, Remove) and action.data_change:
                raise UnsupportedFeatureError(
                    f"version {version} of {snapshot.store.url} removes rows, and a stream takes "
                    "appended rows alone",
                    hint="start the stream again from a new checkpoint",
                )
            if isinstance(action, Add) and action.data_change:
                found[version].append(action.path)
    return found
