"""The files of a version for Spark's `FileIndex`, as a Python object that the JVM calls back.

The index itself is a Java object (`internals/DeltaFiles.java`), which knows what never changes. It
asks this one for files, with Spark's filters as JSON; the answer is built in bulk. One index
stands for one version of a table, for as long as a plan refers to it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from functools import cached_property, partial
from weakref import WeakSet

import pyarrow as pa
from pyspark.sql import Column

from lakebed.expressions import conjunction
from lakebed.spark.columns.spark_types import type_json
from lakebed.spark.errors.jvm_errors import reported_to
from lakebed.spark.internals.java_indexes import DeltaFiles, encode_groups
from lakebed.spark.internals.jvm import JavaObject, Jvm
from lakebed.spark.native.file_listing import Listing
from lakebed.spark.native.file_sizes import check_sizes
from lakebed.spark.native.filters import Filter, FilterReader
from lakebed.spark.native.metadata_only import Aggregate, aggregate_values
from lakebed.spark.native.partitions import FileGroups
from lakebed.spark.native.row_ids import OF_FILES, values_of_files
from lakebed.spark.native.vector_columns import VectorColumn
from lakebed.spec.paths import encode_path, is_plain
from lakebed.spec.schema import StructField, StructType
from lakebed.transaction.read_set import OnRead

_LOG = logging.getLogger("lakebed")


class DeltaFileIndex:
    """The files of a snapshot."""

    def __init__(
        self,
        jvm: Jvm,
        listing: Listing,
        vectors: VectorColumn | None = None,
        on_read: OnRead | None = None,
    ) -> None:
        self.listing = listing
        self.name = listing.name
        self._jvm = jvm
        self._vectors = vectors
        self._on_read = on_read
        self._filter_reader = FilterReader(jvm, listing.snapshot.schema, listing.mode)
        with _lock:
            _indexes.add(self)

    @property
    def partition_schema(self) -> StructType:
        """Spark's partition columns: the table's, and the hidden one of deletion vectors."""
        return StructType((*self.listing.partitioning.fields, *self._hidden_fields))

    @property
    def _hidden_fields(self) -> tuple[StructField, ...]:
        of_vectors = () if self._vectors is None else (self._vectors.field,)
        return (*of_vectors, *OF_FILES) if self.listing.is_apart else of_vectors

    def read_filters(self, sources: Sequence[JavaObject]) -> list[Filter]:
        return [self._filter_reader.read(source) for source in sources]

    def to_java(
        self, *, is_time_travel: bool, kept: Column | None, row_index: StructField
    ) -> JavaObject:
        """The index that Spark gets. It keeps this object, which must not keep it in turn.

        `kept` is the condition that leaves out deleted rows, if there are any.
        """
        hidden = None
        if self._vectors is not None:
            columns = StructType((row_index, self._vectors.field))
            hidden = self._jvm.data_type(type_json(columns))
        return self._java.index(
            self,
            self.name,
            self.listing.root,
            self._jvm.data_type(type_json(self.partition_schema)),
            is_time_travel=is_time_travel,
            kept=kept,
            hidden=hidden,
        )

    # --- called by the index ---

    def apply(self, request: str, sources: JavaObject | None) -> object:
        """The answer to a question of `DeltaFiles.java`; `sources` are the filters in it."""
        kind, *parts = request.split("\0")
        with reported_to(self._jvm):
            if kind == "aggregates":
                return self._try_aggregates(Aggregate.of(parts), sources)
            if kind == "size":
                return self.listing.snapshot.totals.size_in_bytes
            if kind == "names":
                return self._names()
            return self._list(int(parts[0]), parts[1:], sources)

    class Java:
        implements = ("java.util.function.BiFunction",)

    # --- building the answer ---

    @cached_property
    def _java(self) -> DeltaFiles:
        return DeltaFiles(self._jvm)

    def _names(self) -> bytes:
        """Escaped, as Spark has them; as bytes, which py4j hands over faster than text."""
        uris = self.listing.uris(self.listing.all_places)
        joined = "\0".join(uris)
        if not is_plain(joined.replace("\0", "")):
            joined = "\0".join(map(encode_path, uris))
        return joined.encode("utf-8", "replace")

    def _list(self, count: int, filters_json: Sequence[str], sources: JavaObject) -> object:
        """The first `count` filters are on partition columns. None if there is no file to read."""
        read = self._filter_reader.read_text
        filters = [
            read(text, partial(sources.__getitem__, place))
            for place, text in enumerate(filters_json)
        ]
        of_partitions = filters[:count]
        visible = [each for each in of_partitions if not self._is_hidden(each)]
        selected = self.listing.select(visible, filters[count:])
        self._report_read([*visible, *filters[count:]], selected.groups.order)
        groups = self._with_kept_rows(selected.groups, list(filter(self._is_hidden, of_partitions)))
        return self._directories(groups)

    def _try_aggregates(
        self, aggregates: list[Aggregate], sources: JavaObject
    ) -> JavaObject | None:
        """A row with aggregates of all rows in the partitions; None if the log does not say.

        The rule of Lakebed in Spark's optimizer goes on without an answer.
        """
        try:
            return self._aggregates(aggregates, self._jvm.expressions(sources))
        except Exception:  # noqa: BLE001 - Spark can do without
            _LOG.warning("an aggregate of %s is computed from its files", self.name, exc_info=True)
            return None

    def _aggregates(
        self, aggregates: list[Aggregate], sources: Sequence[JavaObject]
    ) -> JavaObject | None:
        files, filters = self.listing.all_places, self.read_filters(sources)
        if sources or self.listing.only is not None:
            files = self.listing.select(filters, []).groups.order
        values = aggregate_values(self.listing, files, aggregates)
        if values is None:
            return None
        self._report_read(filters, files)
        fields = [StructField(f"v{i}", each.data_type) for i, each in enumerate(values)]
        table = pa.table([each.value for each in values], names=[field.name for field in fields])
        return self._jvm.rows(table, type_json(StructType(tuple(fields))))

    def _report_read(self, filters: Sequence[Filter], places: pa.Int64Array) -> None:
        if self._on_read is not None:
            predicate = conjunction([each.expression for each in filters]) if filters else None
            paths = self.listing.files.column("path").take(places).to_pylist()
            self._on_read(predicate, paths)

    def _directories(self, groups: FileGroups) -> object:
        """With partition values as Java objects; files without any go over as bytes alone."""
        if not len(groups):
            return None
        names = ["path", "size", "modificationTime"]
        files = self.listing.files.select(names).take(groups.order)
        uris = self.listing.uris(groups.order)
        store = self.listing.snapshot.store
        check_sizes(store, files.column("path"), uris, files.column("size"))
        encoded = encode_groups(
            groups.lengths.to_pylist(),
            uris,
            files.column("size").to_pylist(),
            files.column("modificationTime").to_pylist(),
        )
        if not self.partition_schema.fields:
            return encoded
        rows = self.listing.partitioning.rows(groups, self._hidden(groups))
        return self._java.directories(rows, encoded)

    def _is_hidden(self, each: Filter) -> bool:
        """Whether it is on a hidden column: one row by its index is such a filter."""
        names = {field.name for field in self._hidden_fields if field.name in each.text}
        return bool(names) and not names.isdisjoint(self._jvm.referenced_names([each.source]))

    def _with_kept_rows(self, groups: FileGroups, filters: Sequence[Filter]) -> FileGroups:
        if not filters:
            return groups
        return self.listing.partitioning.matching(groups, filters, self._hidden(groups))

    def _hidden(self, groups: FileGroups) -> list[tuple[StructField, pa.Array]]:
        first = groups.first
        found: list[tuple[StructField, pa.Array]] = []
        if self._vectors is not None:
            values = self._vectors.values(self.listing.vectors(first), self.listing.uris(first))
            found.append((self._vectors.field, values))
        if self.listing.is_apart:
            found += values_of_files(self.listing.snapshot, first)
        return found


def find_index(name: str) -> DeltaFileIndex | None:
    """An index with this name, if a plan still has one; those of one version share a name."""
    with _lock:
        return next((each for each in _indexes if each.name == name), None)


_lock = threading.Lock()
_indexes: WeakSet[DeltaFileIndex] = WeakSet()
