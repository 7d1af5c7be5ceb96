"""The native data plane: Spark's own Parquet reader and writer, reached through py4j."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakebed.arrow.write import FileLayout
from lakebed.log.snapshot import Snapshot
from lakebed.spark.internals.jvm import Jvm
from lakebed.spark.plane import POSITION, FileSettings
from lakebed.spark.plane_options import ScanOptions
from lakebed.spark.projection import quote
from lakebed.spark.scan import scan
from lakebed.spark.write import num_partitions, write_files
from lakebed.spec.actions import Add
from lakebed.storage.store import Store


@dataclass(frozen=True)
class NativePlane:
    """`root` is the folder of the table as Hadoop knows it."""

    session: SparkSession
    store: Store
    root: str

    def scan(
        self,
        snapshot: Snapshot,
        options: Mapping[str, str],
        *,
        is_time_travel: bool = False,
        only: Sequence[str] | None = None,
    ) -> DataFrame:
        jvm = Jvm.of(self.session)
        asked = ScanOptions.of(options)
        frame = scan(
            jvm,
            snapshot,
            self.root,
            asked.others,
            is_time_travel=is_time_travel,
            only=only,
        )
        if asked.where is not None:
            frame = frame.where(asked.where)
        if asked.columns is not None:
            frame = frame.select([quote(field.name) for field in asked.picked(snapshot.schema)])
        return frame

    def scan_made(self, snapshot: Snapshot, *, positions: bool = False) -> DataFrame:
        frame = scan(Jvm.of(self.session), snapshot, self.root)
        if not positions:
            return frame
        return frame.select("*", F.col("_metadata.row_index").alias(POSITION))

    def write_files(
        self, frame: DataFrame, layout: FileLayout, settings: FileSettings
    ) -> list[Add]:
        jvm = Jvm.of(self.session)
        return write_files(jvm, self.store, self.root, frame, layout, settings)

    def num_partitions(self, frame: DataFrame) -> int | None:
        return num_partitions(Jvm.of(self.session), frame)
