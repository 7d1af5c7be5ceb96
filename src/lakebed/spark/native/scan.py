"""A version of a table as a DataFrame over Spark's own Parquet reader.

PROTOCOL: Reader Requirements of column mapping, deletion vectors, type widening and void columns.
The relation has the columns as the data files store them; where the table shows something else, a
projection of native expressions is on top of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame

from lakebed.log.newest_version import NewestVersion
from lakebed.log.snapshot import Snapshot
from lakebed.spark.columns.projection import logical_columns
from lakebed.spark.columns.spark_types import type_json
from lakebed.spark.internals.delta_scans import install_scan_rule
from lakebed.spark.internals.jvm import Jvm
from lakebed.spark.native.file_listing import Listing
from lakebed.spark.native.table_files import TableFiles
from lakebed.spark.stores import failures
from lakebed.spec.schema import DOUBLE, FLOAT, StructType, walk_types


def scan(
    jvm: Jvm,
    snapshot: Snapshot,
    root: str,
    options: Mapping[str, str] | None = None,
    *,
    newest: NewestVersion | None = None,
    is_time_travel: bool = False,
    only: Sequence[str] | None = None,
) -> DataFrame:
    """The rows of a table. `root` is its folder as Hadoop knows it.

    With `newest` each query reads the newest version with the columns of the snapshot, else all
    read the snapshot. `only` restricts it to some of its files, by their paths in the log.
    """
    jvm.start_callbacks()
    install_scan_rule(jvm)
    failures.install()
    failures.serve(root)
    listing = Listing(jvm, snapshot, root, only)
    files = TableFiles(jvm, listing, newest, is_time_travel)
    columns = logical_columns(snapshot.schema, listing.mode)
    frame = jvm.relation(
        files.to_java(),
        type_json(files.stored()),
        type_json(StructType(tuple(listing.partitioning.fields))),
        {**(options or {}), **_reader_options(snapshot.schema, listing.mode)},
    )
    return frame if columns is None else frame.select(*columns)


def _reader_options(schema: StructType, mode: str) -> dict[str, str]:
    """Settings of Spark's reader for this relation alone."""
    options = {}
    if mode == "id":
        options["spark.sql.parquet.fieldId.read.enabled"] = "true"
    if any(kind in (FLOAT, DOUBLE) for kind in walk_types(schema)):
        # In dictionaries -0.0 and 0.0 are two values: row groups with one would be skipped.
        options["parquet.filter.dictionary.enabled"] = "false"
    return options
