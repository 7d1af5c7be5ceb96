"""The native data plane: Spark's own Parquet reader and writer, reached through py4j.

PROTOCOL: Reader Requirements of column mapping, deletion vectors, type widening and void columns.
A scan is a relation with the columns as the data files store them; where the table shows something
else, a projection of native expressions is on top of it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from lakebed.data_files.curves import Curve
from lakebed.data_files.file_layout import FileLayout
from lakebed.log.newest_version import NewestVersion
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.spark.columns.projection import logical_columns, quote
from lakebed.spark.columns.spark_types import type_json
from lakebed.spark.columns.sql_expressions import sql_column
from lakebed.spark.errors import jvm_errors
from lakebed.spark.internals.delta_scans import install_scan_rule, recache
from lakebed.spark.internals.executor_code import MarkedRows, store_marks, with_parts
from lakebed.spark.internals.jvm import Jvm
from lakebed.spark.internals.startup.rules import TRACKED_PARQUET, compiled
from lakebed.spark.native.file_listing import Listing
from lakebed.spark.native.row_ids import row_id_columns
from lakebed.spark.native.table_files import TableFiles
from lakebed.spark.native.write import num_partitions, write_files
from lakebed.spark.plane.plane import FileSettings, TrackedRows
from lakebed.spark.plane.plane_options import ScanOptions
from lakebed.spark.plane.position_bitmaps import FILE, POSITION, Positions, noted_positions
from lakebed.spark.plane.vector_files import WrittenVector, known_vectors, written_vectors
from lakebed.spark.workers import write_tasks as workers
from lakebed.spec.actions import Add, DeletionVector
from lakebed.spec.schema import DOUBLE, FLOAT, StructType, walk_types
from lakebed.spec.vector_descriptors import log_path
from lakebed.storage.store import Store

_LOG = logging.getLogger("lakebed")


@dataclass(frozen=True)
class NativePlane:
    """`root` is the folder of the table as Hadoop names it, `hadoop` are settings to reach it."""

    session: SparkSession
    store: Store
    root: str
    hadoop: Mapping[str, str] = field(default_factory=dict, repr=False)

    def scan(
        self,
        snapshot: Snapshot,
        options: Mapping[str, str],
        *,
        follows: bool = False,
        is_time_travel: bool = False,
        only: Sequence[str] | None = None,
    ) -> DataFrame:
        jvm = Jvm.of(self.session)
        asked = ScanOptions.of(options)
        frame = _scan(
            jvm,
            snapshot,
            self.root,
            {**self.hadoop, **asked.others},
            newest=NewestVersion(TableLog(self.store), snapshot) if follows else None,
            is_time_travel=is_time_travel,
            only=only,
            shows_ids=row_id_columns(snapshot) is not None,
        )
        if asked.where is not None:
            frame = frame.where(sql_column(frame, asked.where))
        if asked.columns is not None:
            frame = frame.select([quote(field.name) for field in asked.picked(snapshot.schema)])
        return frame

    def scan_synthetic(self, snapshot: Snapshot, *, positions: bool = False) -> DataFrame:
        frame = _scan(Jvm.of(self.session), snapshot, self.root, self.hadoop)
        if not positions:
            return frame
        return frame.select("*", F.col("_metadata.row_index").alias(POSITION))

    def write_files(
        self, frame: DataFrame, layout: FileLayout, settings: FileSettings
    ) -> list[Add]:
        if layout.has_nested_ids:
            # Spark's writer cannot set them.
            with jvm_errors.of_job("the job that writes the rows"):
                return workers.write_files(frame, self.store, layout, settings)
        jvm = Jvm.of(self.session)
        return write_files(jvm, self.store, self.root, frame, layout, settings, hadoop=self.hadoop)

    def find_positions(self, frame: DataFrame, sums: Mapping[str, Column]) -> Positions:
        marked = MarkedRows(_numbers(frame, sums), FILE, POSITION, list(sums))
        with jvm_errors.of_job("the job that looks for the rows"):
            noted = marked.run()
        return noted_positions(noted, list(sums))

    def track_positions(self, frame: DataFrame) -> TrackedRows | None:
        marked = MarkedRows(frame, FILE, POSITION, [])
        return TrackedRows(marked.passing(), lambda: noted_positions(marked.noted(), []))

    def write_vectors(
        self,
        frame: DataFrame,
        sums: Mapping[str, Column],
        vectors: Mapping[int, DeletionVector],
        prefix_length: int,
    ) -> list[WrittenVector]:
        names = list(sums)
        for vector in vectors.values():
            # Tasks open these files by themselves.
            reference = log_path(vector)
            if reference is not None:
                home, path = self.store.resolve(reference)
                home.check_link(path)
        marked = MarkedRows(_numbers(frame, sums), FILE, POSITION, names)
        # All bitmaps of a file come to one task, one after the other.
        bitmaps = marked.bitmaps().repartition(FILE).sortWithinPartitions(FILE)
        with jvm_errors.of_job("the job that writes deletion vectors"):
            messages = store_marks(
                bitmaps, self.root, prefix_length, self.hadoop, known_vectors(vectors), len(names)
            )
        return list(written_vectors(messages, names))

    def with_parts(
        self,
        frame: DataFrame,
        columns: Sequence[str],
        kinds: Sequence[str],
        curve: Curve,
        starts: Sequence[int],
        marks: Sequence[int],
        name: str,
    ) -> DataFrame:
        return with_parts(frame, columns, kinds, curve, starts, marks, name)

    def recache(self) -> None:
        """Follows a commit, which is there whatever fails now: Spark forgets what it had cached
        before it plans it again."""
        try:
            recache(self.session, self.root)
        except Exception as error:  # noqa: BLE001 - an error would say that nothing was committed
            _LOG.warning("what Spark has cached of %s is not cached any more: %s", self.root, error)

    def num_partitions(self, frame: DataFrame, layout: FileLayout) -> int | None:
        return None if layout.has_nested_ids else num_partitions(Jvm.of(self.session), frame)


def _scan(
    jvm: Jvm,
    snapshot: Snapshot,
    root: str,
    options: Mapping[str, str] | None = None,
    *,
    newest: NewestVersion | None = None,
    is_time_travel: bool = False,
    only: Sequence[str] | None = None,
    shows_ids: bool = False,
) -> DataFrame:
    """The rows of a table. `root` is its folder as Hadoop names it. With `shows_ids` the ids of
    rows are in `_metadata`.

    With `newest` each query reads the newest version with the columns of the snapshot, else all
    read the snapshot. `only` restricts it to some of its files, by their paths in the log.
    """
    jvm.start_callbacks()
    install_scan_rule(jvm)
    jvm_errors.install()
    jvm_errors.register_root(root)
    listing = Listing(jvm, snapshot, root, only)
    files = TableFiles(jvm, listing, newest, is_time_travel)
    columns = logical_columns(snapshot.schema, listing.mode)
    frame = jvm.relation(
        files.to_java(),
        type_json(files.stored()),
        type_json(StructType(tuple(listing.partitioning.fields))),
        {**(options or {}), **_reader_options(snapshot.schema, listing.mode)},
        compiled(jvm.session, TRACKED_PARQUET) if shows_ids else None,
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


def _numbers(frame: DataFrame, sums: Mapping[str, Column]) -> DataFrame:
    """The positions, and what is to be added up as whole numbers."""
    counted = [
        F.coalesce(column.cast("long"), F.lit(0)).alias(name) for name, column in sums.items()
    ]
    return frame.select(FILE, POSITION, *counted)
