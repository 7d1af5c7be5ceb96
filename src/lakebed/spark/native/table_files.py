"""The files of a table in an analyzed plan: each query decides which version it reads.

As in delta-spark a DataFrame follows its table: whenever Spark optimizes a query, the rule in
`internals/DeltaScans.java` asks the object here for the newest version. Time travel, and the tables
that a command reads, are pinned to one version.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

from pyspark.sql import Column
from pyspark.sql import functions as F

from lakebed.log.newest_version import NewestVersion
from lakebed.log.snapshot import Snapshot
from lakebed.spark.columns.spark_types import stored_schema, type_json
from lakebed.spark.errors.jvm_errors import reported_to
from lakebed.spark.internals.java_indexes import table_index
from lakebed.spark.internals.jvm import ROW_INDEX, JavaObject, Jvm
from lakebed.spark.native.file_index import DeltaFileIndex, find_index
from lakebed.spark.native.file_listing import Listing
from lakebed.spark.native.row_ids import row_ids
from lakebed.spark.native.vector_columns import (
    MOST_FLAT_BYTES,
    BitmapColumn,
    Bitmaps,
    BlockBitmaps,
    FlatBitmaps,
    NumberColumn,
    VectorColumn,
    VectorReader,
)
from lakebed.spec.columns.read_compatibility import check_read_compatible
from lakebed.spec.schema import LONG, StructField, StructType
from lakebed.transaction.read_set import OnRead


@dataclass(frozen=True, eq=False)
class TableFiles:
    """`listing` is the version that the plan was analyzed with.

    `newest` is asked for the version of each query; without it all queries read that of the
    listing. `on_read` learns what queries read.
    """

    jvm: Jvm
    listing: Listing
    newest: NewestVersion | None = None
    is_time_travel: bool = False
    on_read: OnRead | None = None
    key: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def name(self) -> str:
        """Spark takes two plans for the same if their indexes have the same name."""
        if self.newest is not None:
            metadata = self.listing.snapshot.metadata
            return f"Delta[{metadata.id} at {self.listing.root}]"
        if self.on_read is not None:
            return f"{self.listing.name} {uuid.uuid4()}"
        return self.listing.name

    def stored(self) -> StructType:
        return stored_schema(self.listing.snapshot.schema, self.listing.mode)

    def to_java(self) -> JavaObject:
        """The index that Spark gets. It keeps this object, which must not keep it in turn."""
        _known[self.key] = self
        return table_index(
            self.jvm,
            self,
            self.key,
            self.name,
            self.listing.root,
            self.jvm.data_type(type_json(StructType(tuple(self.listing.partitioning.fields)))),
            is_time_travel=self.is_time_travel,
            follows=self.newest is not None,
        )

    def pinned(self, snapshot: Snapshot | None, on_read: OnRead | None) -> TableFiles:
        """The same table for a plan that reads one version; the newest if none is given."""
        assert self.newest is not None
        chosen = self.newest.snapshot() if snapshot is None else snapshot
        return TableFiles(self.jvm, self._listing(chosen), on_read=on_read)

    # --- called by the index ---

    def apply(self, request: str, _: JavaObject | None) -> object:
        """The answer to a question of `TableFiles.java`: the files, or None if it has them."""
        asked, *names = request.split("\0")
        kind = asked.removeprefix(_TRACKED)
        with reported_to(self.jvm):
            if kind == "size":
                return self.listing.snapshot.totals.size_in_bytes
            chosen = self._chosen(kind, names)
            if kind != asked:
                chosen = chosen.each_apart()
            return None if chosen.name == names[-1] else self._files(chosen)

    class Java:
        implements = ("java.util.function.BiFunction",)

    def _chosen(self, kind: str, names: list[str]) -> Listing:
        if self.newest is None:
            return self.listing
        index = find_index(names[0]) if kind == "same" else None
        return self._listing(self.newest.snapshot() if index is None else index.listing.snapshot)

    def _listing(self, snapshot: Snapshot) -> Listing:
        """Over a later version; an error if the plan cannot read it any more."""
        known = self.listing
        if snapshot is known.snapshot:
            return known
        check_read_compatible(
            snapshot.store.url,
            known.snapshot.schema,
            snapshot.schema,
            partitions=(known.snapshot.partition_columns, snapshot.partition_columns),
        )
        return Listing(self.jvm, snapshot, known.root, known.only, mode=known.mode)

    def _files(self, listing: Listing) -> JavaObject:
        vectors = _vector_column(self.jvm, listing, self.stored())
        kept = None if vectors is None else _is_kept(self.jvm, vectors, _bitmaps(listing))
        index = DeltaFileIndex(self.jvm, listing, vectors, self.on_read)
        java = index.to_java(is_time_travel=self.is_time_travel, kept=kept, row_index=_ROW_INDEX)
        return java.withRowIds(row_ids(self.jvm, listing.snapshot)) if listing.is_apart else java


def table_files_of(index: JavaObject) -> TableFiles:
    """The object behind an index in a plan."""
    return _known[str(index.key())]


_known: WeakValueDictionary[str, TableFiles] = WeakValueDictionary()


def _is_kept(jvm: Jvm, vectors: VectorColumn, bitmaps: Bitmaps) -> Column:
    """The condition, which is the same for all tables whose bitmaps are in the hidden column."""

    def condition() -> Column:
        return bitmaps.is_kept(jvm, vectors.bitmap(), F.col(ROW_INDEX))

    if not isinstance(vectors, BitmapColumn):
        return condition()
    return _shared(jvm, type(bitmaps).__name__, condition)


def _shared(jvm: Jvm, key: str, condition: Callable[[], Column]) -> Column:
    if key not in jvm.conditions:
        jvm.conditions[key] = condition()
    return jvm.conditions[key]


def _vector_column(jvm: Jvm, listing: Listing, stored: StructType) -> VectorColumn | None:
    if not listing.has_vectors:
        return None
    reader = VectorReader(listing.snapshot.store, _bitmaps(listing))
    # Spark adds the row index and the hidden column to what it reads.
    extra = (*stored.fields, _ROW_INDEX, BitmapColumn.field)
    if jvm.reads_batches(type_json(StructType(extra))):
        return BitmapColumn(reader)
    everything = listing.all_places
    return NumberColumn(reader, listing.vectors(everything), listing.uris(everything))


def _bitmaps(listing: Listing) -> Bitmaps:
    return BlockBitmaps() if listing.num_rows_with_vectors > 8 * MOST_FLAT_BYTES else FlatBitmaps()


_TRACKED = "tracked "
# Nullable, because no data file has such a column.
_ROW_INDEX = StructField(ROW_INDEX, LONG)
