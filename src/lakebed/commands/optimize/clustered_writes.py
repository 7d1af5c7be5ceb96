"""Clustering on write: a large write to a clustered table arranges its rows before it writes them.

Queries then skip files right away, and not from the next OPTIMIZE on. The files are in no cube, for
they were not arranged together with others: OPTIMIZE takes them as it takes all new files.

To cut the curve, some values of the clustering columns must be known before the rows are written.
So they are read twice, which is cheap only where nothing but these columns of columnar files is
read. Rows that a join, an aggregate or Python makes are computed once: they are left as they come,
unless the setting says `always`; then Spark looks for the ranges by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame

from lakebed.commands.optimize.curve_columns import CurveColumn, find_curve_columns, same_values
from lakebed.commands.optimize.curve_values import value_of
from lakebed.commands.optimize.placement import addresses
from lakebed.commands.target.clustering_columns import clustering_columns, to_paths
from lakebed.data_files.curves import Curve, Kind, quantiles
from lakebed.data_files.file_layout import FileLayout
from lakebed.errors import TableNotFoundError
from lakebed.log.table_log import TableLog
from lakebed.settings.setting_table import CLUSTERING_MIN_SIZE, CLUSTERING_MODE
from lakebed.spark.columns.projection import quote
from lakebed.spark.columns.spark_types import incoming_schema
from lakebed.spark.plane.plane import Plane
from lakebed.spark.session.session_kind import functions_of, is_connect

_MIN_SIZES = (64 << 20, 256 << 20, 512 << 20, 1 << 30)
"""By the number of columns: the more there are, the more files it takes until each helps."""
_FILE_SIZE = 128 << 20
_SAMPLE, _SAMPLE_OF_FILE = 10_000, 20
_TASK = "__lakebed_task"


@dataclass(frozen=True)
class ClusteredWrites:
    """Arranges what is written to one table, if its clustering and the settings ask for it."""

    log: TableLog
    plane: Plane
    settings: Mapping[str, str]
    asked: Sequence[str] | None = None
    """The columns that the write itself names: of a table that it creates, for example."""

    def arranged(self, source: DataFrame, rows: DataFrame, layout: FileLayout) -> DataFrame | None:
        """The rows in other tasks; None if they are to stay as they are.

        `rows` are those of `source`, prepared for the table.
        """
        mode = CLUSTERING_MODE.read(self.settings)
        # What a remote plan will give, its client cannot know.
        if mode == "never" or is_connect(source):
            return None
        size = self._size(source)
        asked = CLUSTERING_MIN_SIZE.read(self.settings)
        if size < (asked or _MIN_SIZES[0]):
            return None
        columns = self._columns(layout)
        if not columns or size < (asked or _MIN_SIZES[min(len(columns), 4) - 1]):
            return None
        num_files = max(2, round(size / (layout.properties.target_file_size or _FILE_SIZE)))
        keys = _keys(source, columns)
        if keys is not None:
            return self._along_curve(keys, rows, columns, num_files)
        return _by_ranges(rows, columns) if mode == "always" else None

    def _size(self, source: DataFrame) -> int:
        from lakebed.spark.internals.plans import estimated_bytes

        return estimated_bytes(source)

    def _columns(self, layout: FileLayout) -> list[CurveColumn]:
        """Those of the newest version; on another the same rows are in other files, no more."""
        if self.asked is not None:
            return find_curve_columns(layout.schema, to_paths(self.asked)) or []
        try:
            paths = clustering_columns(self.log.snapshot()) or ()
        except TableNotFoundError:
            return []
        return find_curve_columns(layout.schema, paths) or []

    def _along_curve(
        self, keys: DataFrame, rows: DataFrame, columns: Sequence[CurveColumn], num_files: int
    ) -> DataFrame:
        # Late, for py4j is no part of a Connect client.
        from lakebed.spark.errors import jvm_errors as failures

        kind: Kind = "hilbert" if len(columns) > 1 else "zorder"
        with failures.of_job("the job that looks at the clustering columns"):
            curve, starts = _cut(keys, kind, num_files)
            f, names = functions_of(rows), keys.columns
            values = [
                value_of(column, f).alias(name) for column, name in zip(columns, names, strict=True)
            ]
            marks = addresses(len(starts) + 1)
            kinds = [column.kind for column in columns]
            parts = self.plane.with_parts(
                rows.select("*", *values), names, kinds, curve, starts, marks, _TASK
            )
        moved = parts.repartition(len(marks), _TASK)
        return moved.select(*[f.col(quote(name)) for name in rows.columns])


def _keys(source: DataFrame, columns: Sequence[CurveColumn]) -> DataFrame | None:
    """The values of the columns before the rows are made fit; None if to read them costs much."""
    from lakebed.spark.internals.plans import is_cheap

    given = find_curve_columns(incoming_schema(source), [column.path for column in columns])
    if given is None or not all(map(same_values, given, columns)):
        return None
    f = functions_of(source)
    values = [value_of(one, f).alias(f"__lakebed_key_{n}") for n, one in enumerate(given)]
    keys = source.select(*values)
    return keys if is_cheap(keys) else None


def _cut(keys: DataFrame, kind: Kind, num_files: int) -> tuple[Curve, list[int]]:
    """The curve, and where on it each file but the first begins.

    Nobody knows how many rows there are, so a sample is so many of them, not a share.
    """
    f = functions_of(keys)
    wanted = _SAMPLE + _SAMPLE_OF_FILE * num_files
    sample = keys.orderBy(f.rand(42)).limit(wanted).toArrow()
    columns = [sample.column(place) for place in range(sample.num_columns)]
    curve = Curve.of(kind, columns)
    found = pa.array(curve.keys(columns), pa.int64())
    return curve, quantiles(found, num_files - 1)


def _by_ranges(rows: DataFrame, columns: Sequence[CurveColumn]) -> DataFrame:
    """Spark's own ranges, the first column before the others; it decides on the number of files."""
    f = functions_of(rows)
    return rows.repartitionByRange(*[value_of(column, f) for column in columns])
