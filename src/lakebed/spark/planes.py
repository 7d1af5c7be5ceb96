"""The two data planes on Spark, and which of them serves a table.

The native plane is Spark's own Parquet reader and writer, reached through py4j. Where there is no
py4j (Spark Connect), or Hadoop has no connector for the store, Python workers read and write with
pyarrow: slower, with the same results.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession

from lakebed.arrow.write import FileLayout
from lakebed.errors import InvalidArgumentError
from lakebed.log.snapshot import Snapshot
from lakebed.spark.jvm import Jvm, is_classic
from lakebed.spark.scan import scan
from lakebed.spec.actions import Add
from lakebed.storage.store import Store

SETTING = "spark.lakebed.dataPlane"
"""auto, native or workers."""


@dataclass(frozen=True)
class FileSettings:
    """What a single write may ask of the files it makes."""

    max_rows_per_file: int | None = None
    compression: str | None = None


class Plane(Protocol):
    """Reads and writes the files of one table."""

    def scan(
        self, snapshot: Snapshot, options: Mapping[str, str], *, is_time_travel: bool = False
    ) -> DataFrame:
        """The rows of a snapshot, with the table's columns."""
        ...

    def write_files(
        self, frame: DataFrame, layout: FileLayout, settings: FileSettings
    ) -> list[Add]:
        """Writes all rows; the frame has the columns of the table, in its order and types.

        Every rule of the table holds for the rows already. Nothing is visible before a commit.
        """
        ...


@dataclass(frozen=True)
class NativePlane:
    """Spark's own reader and writer. `root` is the folder of the table as Hadoop knows it."""

    session: SparkSession
    store: Store
    root: str

    def scan(
        self, snapshot: Snapshot, options: Mapping[str, str], *, is_time_travel: bool = False
    ) -> DataFrame:
        jvm = Jvm.of(self.session)
        return scan(jvm, snapshot, self.root, options, is_time_travel=is_time_travel)

    def write_files(
        self, frame: DataFrame, layout: FileLayout, settings: FileSettings
    ) -> list[Add]:
        raise NotImplementedError


def plane_for(session: SparkSession, store: Store, root: str) -> Plane:
    """The plane for the table in a store. `root` is its folder as Hadoop would name it."""
    chosen = session.conf.get(SETTING, "auto")
    if chosen not in ("auto", "native", "workers"):
        raise InvalidArgumentError(
            f"{SETTING} is {chosen!r}", hint="set it to auto, native or workers"
        )
    if not is_classic(session):
        raise InvalidArgumentError("no plane for this session")
    return NativePlane(session, store, root)
