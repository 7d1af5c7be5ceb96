"""Spark's `FileIndex` as a Python object that the JVM calls back.

Spark asks it for files when it plans a query, with its own filters; the answer is built in bulk.
One index stands for one version of a table, for as long as a plan refers to it.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import cached_property
from weakref import WeakValueDictionary

import pyarrow as pa

from lakebed.spark.deletion_vectors import COLUMN, VectorReader
from lakebed.spark.failures import reported_to
from lakebed.spark.file_status import encode_groups
from lakebed.spark.filters import Filter, FilterReader
from lakebed.spark.jvm import FILE_INDEX, JavaObject, Jvm
from lakebed.spark.listing import Listing
from lakebed.spark.partitions import FileGroups
from lakebed.spark.types import type_json
from lakebed.spec.paths import encode_path
from lakebed.spec.schema import StructField, StructType


class DeltaFileIndex:
    """The files of a snapshot. Names of methods are Spark's, which calls them."""

    def __init__(
        self,
        jvm: Jvm,
        listing: Listing,
        *,
        with_vectors: bool,
        is_time_travel: bool,
    ) -> None:
        self._jvm = jvm
        self.listing = listing
        self.with_vectors = with_vectors
        self._is_time_travel = is_time_travel
        self._vectors = VectorReader(listing.snapshot.store)
        snapshot = listing.snapshot
        self.name = f"Delta[{snapshot.metadata.id} version {snapshot.version} at {listing.root}]"
        self._hash = zlib.crc32(self.name.encode()) & 0x7FFFFFFF
        _INDEXES[self.name] = self

    @property
    def partition_schema(self) -> StructType:
        """Spark's partition columns: the table's, and the hidden one of deletion vectors."""
        hidden: list[StructField] = [COLUMN] if self.with_vectors else []
        return StructType((*self.listing.partitioning.fields, *hidden))

    def read_filters(self, sources: Sequence[JavaObject]) -> list[Filter]:
        return self._filter_reader.read_all(sources)

    @cached_property
    def _filter_reader(self) -> FilterReader:
        return FilterReader(self._jvm, self.listing.snapshot.schema, self.listing.mode)

    # --- called by Spark ---

    def rootPaths(self) -> JavaObject:
        return self._jvm.paths([self.listing.root])

    def listFiles(self, partition_filters: JavaObject, data_filters: JavaObject) -> JavaObject:
        with reported_to(self._jvm):
            on_partitions = self.read_filters(self._jvm.expressions(partition_filters))
            others = self.read_filters(self._jvm.expressions(data_filters))
            return self._directories(self.listing.choose(on_partitions, others).groups)

    def inputFiles(self) -> JavaObject:
        with reported_to(self._jvm):
            places = pa.array(range(self.listing.files.num_rows), pa.int64())
            return self._jvm.strings(list(map(encode_path, self.listing.uris(places))))

    def refresh(self) -> None:
        """A version never changes."""

    def sizeInBytes(self) -> int:
        with reported_to(self._jvm):
            return self.listing.snapshot.totals.size_in_bytes

    def partitionSchema(self) -> JavaObject:
        with reported_to(self._jvm):
            return self._jvm.data_type(type_json(self.partition_schema))

    def metadataOpsTimeNs(self) -> JavaObject:
        return self._jvm.none()

    def isTimeTravel(self) -> bool:
        return self._is_time_travel

    def toString(self) -> str:
        return self.name

    def equals(self, other: JavaObject) -> bool:
        """Two indexes are equal if they are of one version; Spark then reuses what it cached."""
        return other is not None and other.toString() == self.name

    def hashCode(self) -> int:
        return self._hash

    class Java:
        implements = (FILE_INDEX,)

    # --- building the answer ---

    def _directories(self, groups: FileGroups) -> JavaObject:
        if not len(groups):
            return self._jvm.no_directories()
        uris = self.listing.uris(groups.order)
        files = self.listing.files.select(["size", "modificationTime"]).take(groups.order)
        encoded = encode_groups(
            groups.lengths.to_pylist(),
            uris,
            files.column("size").to_pylist(),
            files.column("modificationTime").to_pylist(),
        )
        rows = self.listing.partitioning.rows(groups, self._hidden(groups))
        return self._jvm.directories(rows, self._jvm.file_statuses(encoded), len(groups))

    def _hidden(self, groups: FileGroups) -> list[tuple[StructField, pa.Array]]:
        if not self.with_vectors:
            return []
        first = groups.first
        vectors = self.listing.files.column("deletionVector").take(first).to_pylist()
        return [(COLUMN, self._vectors.bitmaps(vectors, self.listing.uris(first)))]


def find_index(name: str) -> DeltaFileIndex | None:
    """The index that calls itself by this name, if there is one."""
    return _INDEXES.get(name)


_INDEXES: WeakValueDictionary[str, DeltaFileIndex] = WeakValueDictionary()
