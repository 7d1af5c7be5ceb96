"""Writing the rows of a batch of bins again: in this process if that is faster, else with Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import DataFrame

from lakebed.commands.optimize.curve_columns import CurveColumn
from lakebed.commands.optimize.curve_values import value_of
from lakebed.commands.optimize.file_selection import Bin
from lakebed.commands.optimize.local_rewrite import Local
from lakebed.commands.optimize.optimize_request import OptimizeRequest, local_bytes
from lakebed.commands.optimize.placement import addresses
from lakebed.commands.rows.row_scan import ROW_ID, ROW_VERSION, RowScan
from lakebed.commands.target.row_target import RowTarget
from lakebed.data_files.curves import Curve, Kind, quantiles
from lakebed.data_files.file_layout import FileLayout
from lakebed.log.snapshot import Snapshot
from lakebed.spark.columns.projection import quote
from lakebed.spark.internals.call_sites import without_call_sites
from lakebed.spark.plane.plane import FileSettings
from lakebed.spark.session.session_kind import functions_of, is_connect
from lakebed.spec.actions import Add
from lakebed.spec.properties import TableProperties

_TASK = "__lakebed_task"
_SHUFFLED_BYTES = 256 << 20
"""Bins up to this size go through one shuffle, all together; larger ones each have a job."""


@dataclass(frozen=True)
class Rewriter:
    """Each bin becomes one file, or files whose rows are along a curve of the columns."""

    target: RowTarget
    request: OptimizeRequest
    settings: Mapping[str, str]
    columns: Sequence[CurveColumn]
    kind: Kind
    """Of the curve."""

    def write(
        self, snapshot: Snapshot, batch: Sequence[Bin], done: Callable[[int], None]
    ) -> list[Add]:
        """The new files. `done` gets the bytes that are rewritten."""
        found = self._by_arrow(snapshot, batch, done)
        if found is None:
            found = self._by_spark(snapshot, batch, done)
        return found

    def _by_arrow(
        self, snapshot: Snapshot, batch: Sequence[Bin], done: Callable[[int], None]
    ) -> list[Add] | None:
        """None if Spark is faster, or if only Spark can do it."""
        most = local_bytes(self.settings, is_connect=is_connect(self.target.session))
        local = Local(snapshot, self.request.sizes.max_file, most, self.settings, done)
        if self._is_arranged:
            return local.arrange(batch, self.columns, self.kind)
        return local.compact(batch)

    def _by_spark(
        self, snapshot: Snapshot, batch: Sequence[Bin], done: Callable[[int], None]
    ) -> list[Add]:
        jobs = SparkRewrite(self.target, snapshot, self.request.sizes.max_file)
        if not self._is_arranged and is_shuffled(batch):
            return jobs.compact(batch)

        def write(one: Bin) -> list[Add]:
            if self._is_arranged:
                adds = jobs.arrange(one, self.columns, self.kind)
            else:
                adds = jobs.gather(one)
            done(one.size)
            return adds

        with ThreadPoolExecutor(self.request.threads, "lakebed-optimize") as pool:
            return [add for adds in pool.map(write, batch) for add in adds]

    @property
    def _is_arranged(self) -> bool:
        return bool(self.columns) and not self.request.is_reorg


@dataclass(frozen=True)
class SparkRewrite:
    """Writes rows of one version of a table again, in jobs of Spark."""

    target: RowTarget
    snapshot: Snapshot
    max_file: int

    @without_call_sites()
    def compact(self, bins: Sequence[Bin]) -> list[Add]:
        """Each bin becomes one file.

        One shuffle for all bins reads their files in parallel, however few files come out.
        """
        numbers = addresses(len(bins))
        labels = [number for one, number in zip(bins, numbers, strict=True) for _ in one.adds]
        adds = [add for one in bins for add in one.adds]
        scan = RowScan(self.snapshot, self.target.plane, adds, labels)
        frame = scan.frame()
        if len(bins) == 1:
            return self._write(scan, frame.repartition(1))
        f = functions_of(frame)
        return self._write(scan, frame.repartition(len(bins), f.col(scan.label)))

    @without_call_sites()
    def gather(self, one: Bin) -> list[Add]:
        """One bin as one file, without a shuffle."""
        scan = RowScan(self.snapshot, self.target.plane, one.adds)
        return self._write(scan, scan.frame().coalesce(1))

    @without_call_sites()
    def arrange(self, one: Bin, columns: Sequence[CurveColumn], kind: Kind) -> list[Add]:
        """A bin as files of about `max_file` bytes, its rows along a curve."""
        scan = RowScan(self.snapshot, self.target.plane, one.adds)
        num_files = max(1, round(one.size / self.max_file))
        frame = scan.frame()
        if num_files == 1:
            return self._write(scan, frame.repartition(1))
        f = functions_of(frame)
        names = [f"__lakebed_key_{number}" for number in range(len(columns))]
        keys = [value_of(column, f).alias(n) for n, column in zip(names, columns, strict=True)]
        curve, starts = self._cut(frame.select(*keys), scan.num_rows, num_files, kind)
        marks = addresses(len(starts) + 1)
        parts = self.target.plane.with_parts(
            frame.select("*", *keys),
            names,
            [column.kind for column in columns],
            curve,
            starts,
            marks,
            _TASK,
        )
        most_rows = max(1, 2 * scan.num_rows // num_files)
        return self._write(scan, parts.repartition(len(marks), _TASK), most_rows)

    def _cut(
        self, keys: DataFrame, num_rows: int, num_files: int, kind: Kind
    ) -> tuple[Curve, list[int]]:
        """The curve, and where on it each file but the first begins, by a sample of the rows."""
        wanted = _SAMPLE + _SAMPLE_OF_FILE * num_files
        fraction = min(1.0, wanted / max(1, num_rows))
        sample = (keys if fraction >= 1 else keys.sample(fraction, 42)).toArrow()
        columns = [sample.column(place) for place in range(sample.num_columns)]
        curve = Curve.of(kind, columns)
        found = pa.array(curve.keys(columns), pa.int64())
        return curve, quantiles(found, num_files - 1)

    def _write(self, scan: RowScan, frame: DataFrame, max_rows: int | None = None) -> list[Add]:
        layout = FileLayout.of(self.snapshot.metadata, self.snapshot.protocol)
        f = functions_of(frame)
        columns = [f.col(quote(name)) for name in layout.schema.names]
        columns += [f.col(name) for name in scan.row_columns]
        rows = frame.select(*columns)
        if scan.materialized is not None:
            names = {ROW_ID: scan.materialized[0].name, ROW_VERSION: scan.materialized[1].name}
            rows = rows.withColumnsRenamed(names)
            layout = layout.with_columns(scan.materialized)
        codec = layout.configuration.get(TableProperties.parquet_compression_codec.key)
        settings = FileSettings(compression=codec, max_rows_per_file=max_rows)
        adds = self.target.plane.write_files(rows, layout, settings)
        return [replace(add, data_change=False) for add in adds]


def is_shuffled(bins: Sequence[Bin]) -> bool:
    return sum(one.size for one in bins) <= _SHUFFLED_BYTES * len(bins)


_SAMPLE, _SAMPLE_OF_FILE = 10_000, 20
