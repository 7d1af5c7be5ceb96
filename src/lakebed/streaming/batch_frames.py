"""The rows of a batch as a DataFrame over the files of the batch."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from lakebed.log.change_feed.change_files import Layers
from lakebed.log.synthetic_snapshot import synthetic_snapshot
from lakebed.spark.plane.plane import Plane
from lakebed.spec.actions import Add
from lakebed.storage.store import Store
from lakebed.streaming.source.table_stream import SourceBatch


def batch_frame(plane: Plane, store: Store, batch: SourceBatch) -> DataFrame:
    """One scan, unless a file comes more than once in the batch."""
    snapshots = [
        synthetic_snapshot(store, batch.protocol, batch.metadata, adds)
        for adds in _layers([file.action for file in batch.files if isinstance(file.action, Add)])
    ]
    return union([plane.scan_synthetic(each) for each in snapshots])


def union(frames: Sequence[DataFrame]) -> DataFrame:
    """In pairs: in a chain of unions Spark would analyze the first ones again for each."""
    some = list(frames)
    while len(some) > 1:
        pairs = zip(some[::2], some[1::2], strict=False)
        some = [*(one.union(other) for one, other in pairs), *some[len(some) & ~1 :]]
    return some[0]


def _layers(adds: Sequence[Add]) -> list[list[Add]]:
    """At least one, and none with a file twice: a file may be read with several vectors."""
    layers = Layers()
    for add in adds:
        layers.put(add)
    return layers.files or [[]]
