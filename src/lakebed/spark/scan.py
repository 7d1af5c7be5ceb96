"""A version of a table as a DataFrame over Spark's own Parquet reader.

PROTOCOL: Reader Requirements of column mapping, deletion vectors, type widening and void columns.
The relation has the columns as the data files store them; where the table shows something else, a
projection of native expressions is on top of it.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakebed.log.snapshot import Snapshot
from lakebed.spark import failures
from lakebed.spark.deletion_vectors import COLUMN, is_kept
from lakebed.spark.file_index import DeltaFileIndex
from lakebed.spark.jvm import Jvm
from lakebed.spark.listing import Listing
from lakebed.spark.projection import logical_columns, quote
from lakebed.spark.types import stored_schema, type_json


def scan(
    jvm: Jvm,
    snapshot: Snapshot,
    root: str,
    options: Mapping[str, str] | None = None,
    *,
    is_time_travel: bool = False,
) -> DataFrame:
    """The rows of a snapshot. `root` is the folder of the table as Hadoop knows it."""
    jvm.start_callbacks()
    failures.install()
    failures.serve(root)
    listing = Listing(jvm, snapshot, root)
    with_vectors = bool(pc.any(listing.has_vector).as_py())
    index = DeltaFileIndex(jvm, listing, with_vectors=with_vectors, is_time_travel=is_time_travel)
    frame = jvm.relation(
        index,
        type_json(stored_schema(snapshot.schema, listing.mode)),
        type_json(index.partition_schema),
        {**(options or {}), **_reader_options(listing.mode)},
    )
    columns = logical_columns(snapshot.schema, listing.mode)
    if with_vectors:
        frame = frame.where(is_kept(jvm, frame, F.col(COLUMN.name)))
        columns = columns or [F.col(quote(name)) for name in snapshot.schema.names]
    return frame if columns is None else frame.select(*columns)


def _reader_options(mode: str) -> dict[str, str]:
    """Settings of Spark's reader for this relation alone."""
    return {"spark.sql.parquet.fieldId.read.enabled": "true"} if mode == "id" else {}
