"""A version of a table as a DataFrame over Spark's own Parquet reader.

PROTOCOL: Reader Requirements of column mapping, deletion vectors, type widening and void columns.
The relation has the columns as the data files store them; where the table shows something else, a
projection of native expressions is on top of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakebed.log.snapshot import Snapshot
from lakebed.spark import failures
from lakebed.spark.deletion_vectors import (
    MOST_FLAT_BYTES,
    BitmapColumn,
    Bitmaps,
    BlockBitmaps,
    FlatBitmaps,
    NumberColumn,
    VectorColumn,
    VectorReader,
)
from lakebed.spark.file_index import DeltaFileIndex
from lakebed.spark.internals.jvm import ROW_INDEX, Jvm
from lakebed.spark.internals.kept_rows import without_deleted
from lakebed.spark.listing import Listing
from lakebed.spark.projection import logical_columns
from lakebed.spark.types import stored_schema, type_json
from lakebed.spec.schema import DOUBLE, FLOAT, LONG, StructField, StructType, walk_types


def scan(
    jvm: Jvm,
    snapshot: Snapshot,
    root: str,
    options: Mapping[str, str] | None = None,
    *,
    is_time_travel: bool = False,
    only: Sequence[str] | None = None,
) -> DataFrame:
    """The rows of a snapshot. `root` is the folder of the table as Hadoop knows it.

    `only` restricts it to some of its files, by their paths in the log.
    """
    jvm.start_callbacks()
    failures.install()
    failures.serve(root)
    listing = Listing(jvm, snapshot, root, only)
    stored = stored_schema(snapshot.schema, listing.mode)
    settings = {**(options or {}), **_reader_options(snapshot.schema, listing.mode)}
    columns = logical_columns(snapshot.schema, listing.mode)
    vectors = _vector_column(jvm, listing, stored)
    index = DeltaFileIndex(jvm, listing, vectors, is_time_travel=is_time_travel)
    if vectors is None:
        frame = _relation(jvm, index, stored, settings)
        return frame if columns is None else frame.select(*columns)
    frame = _relation(jvm, index, StructType((*stored.fields, _ROW_INDEX)), settings)
    kept = _is_kept(jvm, vectors, _bitmaps(listing))
    return without_deleted(jvm, frame, kept, snapshot.schema.names, columns)


def _relation(
    jvm: Jvm, index: DeltaFileIndex, stored: StructType, options: Mapping[str, str]
) -> DataFrame:
    return jvm.relation(
        index.to_java(), type_json(stored), type_json(index.partition_schema), options
    )


def _is_kept(jvm: Jvm, vectors: VectorColumn, bitmaps: Bitmaps) -> Column:
    """The condition, which is the same for all tables whose bitmaps are in the hidden column."""
    if not isinstance(vectors, BitmapColumn):
        return bitmaps.is_kept(jvm, vectors.bitmap(), F.col(ROW_INDEX))
    key = type(bitmaps).__name__
    if key not in jvm.conditions:
        jvm.conditions[key] = bitmaps.is_kept(jvm, vectors.bitmap(), F.col(ROW_INDEX))
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


def _reader_options(schema: StructType, mode: str) -> dict[str, str]:
    """Settings of Spark's reader for this relation alone."""
    options = {}
    if mode == "id":
        options["spark.sql.parquet.fieldId.read.enabled"] = "true"
    if any(kind in (FLOAT, DOUBLE) for kind in walk_types(schema)):
        # In dictionaries -0.0 and 0.0 are two values: row groups with one would be skipped.
        options["parquet.filter.dictionary.enabled"] = "false"
    return options


# Nullable, because no data file has such a column.
_ROW_INDEX = StructField(ROW_INDEX, LONG)
