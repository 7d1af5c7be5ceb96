"""The native data plane: Spark's own Parquet reader and writer, reached through py4j."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from lakebed.arrow.curves import Curve
from lakebed.arrow.write import FileLayout
from lakebed.log.newest_version import NewestVersion
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.spark import failures
from lakebed.spark.internals.curve_keys import with_parts
from lakebed.spark.internals.delta_scans import recache
from lakebed.spark.internals.jvm import Jvm
from lakebed.spark.internals.marked_rows import MarkedRows, store_marks
from lakebed.spark.plane import FileSettings, Noting
from lakebed.spark.plane_options import ScanOptions
from lakebed.spark.positions import FILE, POSITION, Positions, noted_positions
from lakebed.spark.projection import quote
from lakebed.spark.scan import scan
from lakebed.spark.sql_expressions import sql_column
from lakebed.spark.vector_files import WrittenVector, known_vectors, written_vectors
from lakebed.spark.workers import write as workers
from lakebed.spark.write import num_partitions, write_files
from lakebed.spec.actions import Add, DeletionVector
from lakebed.spec.deletion_vectors import log_path
from lakebed.storage.store import Store

_LOG = logging.getLogger("lakebed")


@dataclass(frozen=True)
class NativePlane:
    """`root` is the folder of the table as Hadoop knows it, `hadoop` are settings for the way."""

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
        frame = scan(
            jvm,
            snapshot,
            self.root,
            {**self.hadoop, **asked.others},
            newest=NewestVersion(TableLog(self.store), snapshot) if follows else None,
            is_time_travel=is_time_travel,
            only=only,
        )
        if asked.where is not None:
            frame = frame.where(sql_column(frame, asked.where))
        if asked.columns is not None:
            frame = frame.select([quote(field.name) for field in asked.picked(snapshot.schema)])
        return frame

    def scan_made(self, snapshot: Snapshot, *, positions: bool = False) -> DataFrame:
        frame = scan(Jvm.of(self.session), snapshot, self.root, self.hadoop)
        if not positions:
            return frame
        return frame.select("*", F.col("_metadata.row_index").alias(POSITION))

    def write_files(
        self, frame: DataFrame, layout: FileLayout, settings: FileSettings
    ) -> list[Add]:
        if layout.has_nested_ids:
            # Spark's writer has no way to give them.
            with failures.of_job("the job that writes the rows"):
                return workers.write_files(frame, self.store, layout, settings)
        jvm = Jvm.of(self.session)
        return write_files(jvm, self.store, self.root, frame, layout, settings, hadoop=self.hadoop)

    def find_positions(self, frame: DataFrame, sums: Mapping[str, Column]) -> Positions:
        marked = MarkedRows(_numbers(frame, sums), FILE, POSITION, list(sums))
        with failures.of_job("the job that looks for the rows"):
            noted = marked.run()
        return noted_positions(noted, list(sums))

    def noting(self, frame: DataFrame) -> Noting | None:
        marked = MarkedRows(frame, FILE, POSITION, [])
        return Noting(marked.passing(), lambda: noted_positions(marked.noted(), []))

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
        with failures.of_job("the job that writes deletion vectors"):
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


def _numbers(frame: DataFrame, sums: Mapping[str, Column]) -> DataFrame:
    """The positions, and what is to be added up as whole numbers."""
    counted = [
        F.coalesce(column.cast("long"), F.lit(0)).alias(name) for name, column in sums.items()
    ]
    return frame.select(FILE, POSITION, *counted)
