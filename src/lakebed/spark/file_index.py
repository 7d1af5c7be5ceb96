"""Spark's `FileIndex` as a Python object that the JVM calls back.

Spark asks it for files when it plans a query, with its own filters; the answer is built in bulk.
One index stands for one version of a table, for as long as a plan refers to it.
"""

from __future__ import annotations

import logging
import threading
import uuid
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakSet

import pyarrow as pa

from lakebed.spark.deletion_vectors import VectorColumn
from lakebed.spark.failures import reported_to
from lakebed.spark.file_status import encode_groups
from lakebed.spark.filters import Filter, FilterReader
from lakebed.spark.internals.jvm import FILE_INDEX, JavaObject, Jvm
from lakebed.spark.listing import Listing
from lakebed.spark.metadata_only import Ask, answer
from lakebed.spark.partitions import FileGroups
from lakebed.spark.types import type_json
from lakebed.spec.paths import encode_path
from lakebed.spec.schema import StructField, StructType

_LOG = logging.getLogger("lakebed")


class DeltaFileIndex:
    """The files of a snapshot. Names of methods are Spark's, which calls them."""

    def __init__(
        self,
        jvm: Jvm,
        listing: Listing,
        vectors: VectorColumn | None = None,
        *,
        is_time_travel: bool = False,
    ) -> None:
        self.listing = listing
        self._jvm = jvm
        self._vectors = vectors
        self._is_time_travel = is_time_travel
        self._filter_reader = FilterReader(jvm, listing.snapshot.schema, listing.mode)
        self._recent = _RecentAnswers()
        snapshot = listing.snapshot
        self.name = f"Delta[{snapshot.metadata.id} version {snapshot.version} at {listing.root}]"
        if listing.only is not None:
            # Some files are not the version: nothing may take one scan for the other.
            self.name = f"{self.name} {uuid.uuid4()}"
        self._hash = zlib.crc32(self.name.encode()) & 0x7FFFFFFF
        with _lock:
            _indexes.add(self)

    @property
    def partition_schema(self) -> StructType:
        """Spark's partition columns: the table's, and the hidden one of deletion vectors."""
        hidden = () if self._vectors is None else (self._vectors.field,)
        return StructType((*self.listing.partitioning.fields, *hidden))

    def read_filters(self, sources: Sequence[JavaObject]) -> list[Filter]:
        return [self._filter_reader.read(source) for source in sources]

    # --- called by Spark ---

    def rootPaths(self) -> JavaObject:
        with reported_to(self._jvm):
            return self._root_paths

    def listFiles(self, partition_filters: JavaObject, data_filters: JavaObject) -> JavaObject:
        with reported_to(self._jvm):
            asked = (partition_filters, data_filters)
            hashes = (partition_filters.hashCode(), data_filters.hashCode())
            return self._recent.get(hashes, asked) or self._list(hashes, asked)

    def inputFiles(self) -> JavaObject:
        with reported_to(self._jvm):
            uris = self.listing.uris(self.listing.all_places)
            return self._jvm.strings(list(map(encode_path, uris)))

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

    def apply(self, request: str, partition_filters: JavaObject) -> JavaObject | None:
        """A row with aggregates of all rows in the partitions; None if the log does not say.

        Called by the rule of Lakebed in Spark's optimizer, which goes on without an answer.
        """
        try:
            return self._aggregates(Ask.read(request), self._jvm.expressions(partition_filters))
        except Exception:  # noqa: BLE001 - Spark can do without
            _LOG.warning("an aggregate of %s is computed from its files", self.name, exc_info=True)
            return None

    class Java:
        implements = (FILE_INDEX, "java.util.function.BiFunction")

    # --- building the answer ---

    @cached_property
    def _root_paths(self) -> JavaObject:
        return self._jvm.paths([self.listing.root])

    def _list(self, hashes: tuple[int, int], asked: tuple[JavaObject, JavaObject]) -> JavaObject:
        filters, others = (self.read_filters(self._jvm.expressions(each)) for each in asked)
        chosen = self.listing.choose(
            [each for each in filters if not self._is_hidden(each)], others
        )
        groups = self._with_kept_rows(chosen.groups, list(filter(self._is_hidden, filters)))
        answer = self._directories(groups)
        if not any(self._jvm.holds_plan(each) for each in asked):
            # A plan would hold this index, and this index the plan, forever.
            self._recent.put(_Answer(hashes, asked, answer, chosen.num_files))
        return answer

    def _aggregates(self, asks: list[Ask], sources: Sequence[JavaObject]) -> JavaObject | None:
        files = self.listing.all_places
        if sources or self.listing.only is not None:
            files = self.listing.choose(self.read_filters(sources), []).groups.order
        answers = answer(self.listing, files, asks)
        if answers is None:
            return None
        fields = [StructField(f"v{i}", each.data_type) for i, each in enumerate(answers)]
        table = pa.table([each.value for each in answers], names=[field.name for field in fields])
        return self._jvm.rows(table, type_json(StructType(tuple(fields))))

    def _directories(self, groups: FileGroups) -> JavaObject:
        if not len(groups):
            return self._jvm.no_directories()
        files = self.listing.files.select(["size", "modificationTime"]).take(groups.order)
        encoded = encode_groups(
            groups.lengths.to_pylist(),
            self.listing.uris(groups.order),
            files.column("size").to_pylist(),
            files.column("modificationTime").to_pylist(),
        )
        rows = self.listing.partitioning.rows(groups, self._hidden(groups))
        return self._jvm.directories(rows, self._jvm.file_statuses(encoded), len(groups))

    def _is_hidden(self, each: Filter) -> bool:
        """Whether it is on the hidden column alone: one row by its index is such a filter."""
        if self._vectors is None:
            return False
        return self._vectors.field.name in self._jvm.referenced_names([each.source])

    def _with_kept_rows(self, groups: FileGroups, filters: Sequence[Filter]) -> FileGroups:
        if not filters:
            return groups
        return self.listing.partitioning.matching(groups, filters, self._hidden(groups))

    def _hidden(self, groups: FileGroups) -> list[tuple[StructField, pa.Array]]:
        if self._vectors is None:
            return []
        first = groups.first
        values = self._vectors.values(self.listing.vectors(first), self.listing.uris(first))
        return [(self._vectors.field, values)]


def find_index(name: str) -> DeltaFileIndex | None:
    """An index that goes by this name, if a plan still has one; several may, of one version."""
    with _lock:
        return next((each for each in _indexes if each.name == name), None)


_lock = threading.Lock()
_indexes: WeakSet[DeltaFileIndex] = WeakSet()


@dataclass(frozen=True)
class _Answer:
    hashes: tuple[int, int]
    asked: tuple[JavaObject, JavaObject]
    answer: JavaObject
    num_files: int


class _RecentAnswers:
    """The last few answers: Spark asks again whenever a DataFrame runs again.

    Java compares the filters: their texts leave out the values of long lists, and time zones.
    """

    _MOST_ANSWERS = 8
    _MOST_FILES = 100_000

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers: list[_Answer] = []

    def get(
        self, hashes: tuple[int, int], asked: tuple[JavaObject, JavaObject]
    ) -> JavaObject | None:
        for each in [each for each in self._answers if each.hashes == hashes]:
            if all(one.equals(other) for one, other in zip(asked, each.asked, strict=True)):
                return each.answer
        return None

    def put(self, answer: _Answer) -> None:
        with self._lock:
            kept = [answer, *self._answers][: self._MOST_ANSWERS]
            while kept and sum(each.num_files for each in kept) > self._MOST_FILES:
                kept.pop()
            self._answers = kept
