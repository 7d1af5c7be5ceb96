"""What a data plane on Spark does: the port that both of them implement."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import Column, DataFrame

from lakebed.data_files.curves import Curve
from lakebed.data_files.file_layout import FileLayout
from lakebed.log.snapshot import Snapshot
from lakebed.spark.plane.position_bitmaps import Positions
from lakebed.spark.plane.vector_files import WrittenVector
from lakebed.spec.actions import Add, DeletionVector


@dataclass(frozen=True)
class FileSettings:
    """What a single write may ask of the files it makes."""

    max_rows_per_file: int | None = None
    compression: str | None = None
    fixed_partitions: bool = False
    """Whether the number of partitions must be what `Plane.num_partitions` said."""
    adaptive: bool = False
    """Whether Spark decides on the number of partitions while it writes, as streams forbid it."""
    folder: str | None = None
    """The folder of the table for the files, if not that of all its data files."""


@dataclass(frozen=True)
class TrackedRows:
    """`positions` are those of all rows of `frame`, once a job has written it."""

    frame: DataFrame
    positions: Callable[[], Positions]


class Plane(Protocol):
    """Reads and writes the files of one table."""

    def scan(
        self,
        snapshot: Snapshot,
        options: Mapping[str, str],
        *,
        follows: bool = False,
        is_time_travel: bool = False,
        only: Sequence[str] | None = None,
    ) -> DataFrame:
        """The rows of a snapshot, with the table's columns.

        If it `follows` the table, each query reads the newest version with these columns. `only`
        restricts it to some of its files, by their paths in the log.
        """
        ...

    def scan_synthetic(self, snapshot: Snapshot, *, positions: bool = False) -> DataFrame:
        """All columns of a snapshot that is in no log (see `log.synthetic_snapshot`).

        With `positions` the last column is `POSITION`.
        """
        ...

    def write_files(
        self, frame: DataFrame, layout: FileLayout, settings: FileSettings
    ) -> list[Add]:
        """Writes all rows; the frame has the columns of the table, in its order and types.

        Every rule of the table holds for the rows already. Nothing is visible before a commit.
        """
        ...

    def find_positions(self, frame: DataFrame, sums: Mapping[str, Column]) -> Positions:
        """Which rows the frame has, by its columns `FILE` and `POSITION`; runs one job.

        `sums` are columns to add up on the way. What is found is in the driver's memory.
        """
        ...

    def track_positions(self, frame: DataFrame) -> TrackedRows | None:
        """The same rows, whose positions are tracked while a job writes them; None if it cannot."""
        ...

    def write_vectors(
        self,
        frame: DataFrame,
        sums: Mapping[str, Column],
        vectors: Mapping[int, DeletionVector],
        prefix_length: int,
    ) -> list[WrittenVector]:
        """Like `find_positions`, for any number of rows: tasks write vectors, many to a file.

        `vectors` are those that some of the files have: the rows of these go into the new ones.
        `prefix_length` is that of the names of folders for the files.
        """
        ...

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
        """The rows with one column more: which part of a curve each of them is in.

        `columns` are of the `kinds` long, double or text. Part n begins at the n-th of `starts`,
        from 1; the column has what `marks` has for it, from 0.
        """
        ...

    def recache(self) -> None:
        """Data of the table that Spark has cached is computed again when it is next read."""
        ...

    def num_partitions(self, frame: DataFrame, layout: FileLayout) -> int | None:
        """How many tasks will write the frame with `fixed_partitions`, if that can be known."""
        ...
