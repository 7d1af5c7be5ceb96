"""The rows of a batch as a DataFrame over the files of the batch."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from lakebed.errors import InvalidArgumentError, VersionNotFoundError
from lakebed.log.change_feed.change_files import Commit, Layers
from lakebed.log.change_feed.changes import FEED_COLUMNS, change_layers
from lakebed.log.snapshot import Snapshot
from lakebed.log.synthetic_snapshot import synthetic_snapshot
from lakebed.log.table_log import TableLog
from lakebed.spark.plane.plane import Plane
from lakebed.storage.store import Store
from lakebed.streaming.source.table_stream import SourceBatch


def batch_frame(plane: Plane, store: Store, batch: SourceBatch) -> DataFrame:
    """One scan, unless a file comes more than once in the batch."""
    snapshots = _changes(store, batch) if batch.changes is not None else _added(store, batch)
    return union([plane.scan_synthetic(each) for each in snapshots])


def union(frames: Sequence[DataFrame]) -> DataFrame:
    """In pairs: in a chain of unions Spark would analyze the first ones again for each."""
    some = list(frames)
    while len(some) > 1:
        pairs = zip(some[::2], some[1::2], strict=False)
        some = [*(one.union(other) for one, other in pairs), *some[len(some) & ~1 :]]
    return some[0]


def _added(store: Store, batch: SourceBatch) -> list[Snapshot]:
    """At least one, and none with a file twice: a file may be read with several vectors."""
    layers = Layers()
    for add in batch.adds:
        layers.put(add)
    return [
        synthetic_snapshot(store, batch.protocol, batch.metadata, adds)
        for adds in layers.files or [[]]
    ]


def _changes(store: Store, batch: SourceBatch) -> list[Snapshot]:
    commits = batch.changes or ()
    found = change_layers(
        store, batch.protocol, batch.metadata, commits, lambda: _before(store, commits)
    )
    empty = synthetic_snapshot(store, batch.protocol, batch.metadata, [], partitions=FEED_COLUMNS)
    return [*found] or [empty]


def _before(store: Store, commits: Sequence[Commit]) -> Snapshot | None:
    """Old writers leave out of a remove what only the version before says."""
    try:
        return TableLog(store).at_version(commits[0].version - 1)
    except (VersionNotFoundError, InvalidArgumentError):
        return None  # the caller says what it needed the version for
