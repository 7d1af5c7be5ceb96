"""`DeltaTable.optimize()`: the builder of delta-spark, with its names and its result."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql import DataFrame, Row

from lakebed.commands.optimize.cube_stats import CubeStats
from lakebed.commands.optimize.optimize import optimize
from lakebed.commands.optimize.optimize_request import OptimizeRequest
from lakebed.commands.optimize.optimize_run import Optimized
from lakebed.commands.optimize.upgrade_uniform import upgrade_uniform
from lakebed.commands.target.column_names import to_path
from lakebed.commands.target.row_target import RowTarget
from lakebed.errors import ArgumentTypeError, ArgumentValueError, InvalidArgumentError
from lakebed.spark.session.session_kind import is_connect
from lakebed.spec.actions import Add
from lakebed.spec.iceberg_compat import COMPATS


@dataclass(frozen=True)
class DeltaOptimizeBuilder:
    """Made by `DeltaTable.optimize`; says which files, then what to do with them."""

    _target: RowTarget
    _request: OptimizeRequest = field(default_factory=OptimizeRequest)

    def where(self, partitionFilter: str) -> DeltaOptimizeBuilder:
        """Only in the partitions for which this SQL condition is true."""
        if not isinstance(partitionFilter, str) or not partitionFilter.strip():
            raise ArgumentTypeError(
                f"{partitionFilter!r} is not a condition",
                hint="""give a text such as "day = '2026-01-31'" """.strip(),
            )
        return self._where(partitionFilter, ())

    def _where(self, condition: str, values: Sequence[Any]) -> DeltaOptimizeBuilder:
        """`values` are those of the parameters in the condition."""
        before = self._request.where
        both = condition if before is None else f"({before}) AND ({condition})"
        every = (*self._request.where_values, *values)
        return replace(self, _request=replace(self._request, where=both, where_values=every))

    def executeCompaction(self) -> DataFrame:
        """Puts small files together; on a clustered table clusters what is not clustered yet."""
        return self._run(self._request)

    def executeZOrderBy(self, *cols: str | Sequence[str]) -> DataFrame:
        """Arranges the rows so that files have few values of each of these columns."""
        names: Sequence[Any] = cols
        if len(cols) == 1 and isinstance(cols[0], list | tuple):
            names = cols[0]
        if not names or not all(isinstance(name, str) for name in names):
            raise ArgumentTypeError(
                f"{names!r} are not names of columns", hint='give names: executeZOrderBy("id")'
            )
        paths = tuple(to_path(name) for name in names)
        return self._run(replace(self._request, zorder_by=paths))

    def executeFull(self) -> DataFrame:
        """Clusters all rows of a clustered table anew (SQL: OPTIMIZE ... FULL)."""
        return self._run(replace(self._request, full=True))

    def executePurge(self) -> DataFrame:
        """Rewrites the files that have deleted rows (SQL: REORG TABLE ... APPLY (PURGE))."""
        return self._run(replace(self._request, purge=True))

    def executeUpgradeUniform(self, icebergCompatVersion: int) -> DataFrame:
        """Makes a table that readers of Iceberg can use too, with version 1 or 2 of Iceberg
        compatibility (SQL: REORG TABLE ... APPLY (UPGRADE UNIFORM (...)))."""
        version = icebergCompatVersion
        if isinstance(version, bool) or not isinstance(version, int) or version not in COMPATS:
            raise ArgumentValueError(
                f"{version!r} is not a version of Iceberg compatibility that tables can be "
                "upgraded to",
                hint="there are 1 and 2",
            )
        if self._request.where is not None:
            raise InvalidArgumentError(
                "UPGRADE UNIFORM takes no WHERE: readers of Iceberg read all files",
                hint="leave WHERE out",
            )
        return optimized_frame(self._target, upgrade_uniform(self._target, COMPATS[version]))

    def _run(self, request: OptimizeRequest) -> DataFrame:
        return optimized_frame(self._target, optimize(self._target, request))


def optimized_frame(target: RowTarget, done: Optimized) -> DataFrame:
    """One row as delta-spark gives it: the path, and what was done."""
    vectors = [add.deletion_vector for add in done.removed if add.deletion_vector is not None]
    metrics = {
        "numFilesAdded": len(done.added),
        "numFilesRemoved": len(done.removed),
        "filesAdded": _sizes(done.added),
        "filesRemoved": _sizes(done.removed),
        "partitionsOptimized": done.num_partitions,
        "zOrderStats": None if done.is_clustered else _zorder_stats(done.cubes),
        "clusteringStats": _clustering_stats(done.cubes) if done.is_clustered else None,
        "numBins": done.num_bins,
        "numBatches": done.num_batches,
        "totalConsideredFiles": done.num_considered,
        "totalFilesSkipped": done.num_considered - len(done.removed),
        "preserveInsertionOrder": False,
        "numFilesSkippedToReduceWriteAmplification": 0,
        "numBytesSkippedToReduceWriteAmplification": 0,
        "startTimeMs": done.started_ms,
        "endTimeMs": int(time.time() * 1000),
        "totalClusterParallelism": _parallelism(target),
        "totalScheduledTasks": done.num_bins,
        "autoCompactParallelismStats": None,
        "deletionVectorStats": Row(
            numDeletionVectorsRemoved=len(vectors),
            numDeletionVectorRowsRemoved=sum(vector.cardinality for vector in vectors),
        ),
        "numTableColumns": done.columns[0],
        "numTableColumnsWithStats": done.columns[1],
    }
    row = (target.log.store.url, Row(**metrics))
    return target.session.createDataFrame([row], OPTIMIZED)


def _zorder_stats(cubes: CubeStats | None) -> Row | None:
    if cubes is None:
        return None
    return Row(
        strategyName="all",
        inputCubeFiles=Row(num=cubes.inside.num, size=cubes.inside.size),
        inputOtherFiles=Row(num=cubes.others.num, size=cubes.others.size),
        inputNumCubes=cubes.num_cubes,
        mergedFiles=Row(num=cubes.merged.num, size=cubes.merged.size),
        numOutputCubes=cubes.num_written,
        mergedNumCubes=None,
    )


def _clustering_stats(cubes: CubeStats | None) -> Row | None:
    if cubes is None:
        return None
    return Row(
        inputZCubeFiles=Row(numFiles=cubes.inside.num, size=cubes.inside.size),
        inputOtherFiles=Row(numFiles=cubes.others.num, size=cubes.others.size),
        inputNumZCubes=cubes.num_cubes,
        mergedFiles=Row(numFiles=cubes.merged.num, size=cubes.merged.size),
        numOutputZCubes=cubes.num_written,
    )


def _parallelism(target: RowTarget) -> int:
    """A client of Spark Connect does not know it."""
    return 0 if is_connect(target.session) else target.session.sparkContext.defaultParallelism


def _sizes(adds: Sequence[Add]) -> Row:
    sizes = [add.size for add in adds]
    return Row(
        min=min(sizes) if sizes else None,
        max=max(sizes) if sizes else None,
        avg=sum(sizes) / len(sizes) if sizes else 0.0,
        totalFiles=len(sizes),
        totalSize=sum(sizes),
    )


_SIZES = "STRUCT<min: BIGINT, max: BIGINT, avg: DOUBLE, totalFiles: BIGINT, totalSize: BIGINT>"
_NUM = "STRUCT<num: BIGINT, size: BIGINT>"
_NUM_FILES = "STRUCT<numFiles: BIGINT, size: BIGINT>"
_ZORDER = (
    f"STRUCT<strategyName: STRING, inputCubeFiles: {_NUM}, inputOtherFiles: {_NUM}, "
    f"inputNumCubes: BIGINT, mergedFiles: {_NUM}, numOutputCubes: BIGINT, mergedNumCubes: BIGINT>"
)
_CLUSTERING = (
    f"STRUCT<inputZCubeFiles: {_NUM_FILES}, inputOtherFiles: {_NUM_FILES}, "
    f"inputNumZCubes: BIGINT, mergedFiles: {_NUM_FILES}, numOutputZCubes: BIGINT>"
)
_PARALLELISM = (
    "STRUCT<maxClusterActiveParallelism: BIGINT, minClusterActiveParallelism: BIGINT, "
    "maxSessionActiveParallelism: BIGINT, minSessionActiveParallelism: BIGINT>"
)
OPTIMIZED = (
    "path STRING, metrics STRUCT<numFilesAdded: BIGINT, numFilesRemoved: BIGINT, "
    f"filesAdded: {_SIZES}, filesRemoved: {_SIZES}, partitionsOptimized: BIGINT, "
    f"zOrderStats: {_ZORDER}, clusteringStats: {_CLUSTERING}, numBins: BIGINT, "
    "numBatches: BIGINT, totalConsideredFiles: BIGINT, totalFilesSkipped: BIGINT, "
    "preserveInsertionOrder: BOOLEAN, numFilesSkippedToReduceWriteAmplification: BIGINT, "
    "numBytesSkippedToReduceWriteAmplification: BIGINT, startTimeMs: BIGINT, endTimeMs: BIGINT, "
    "totalClusterParallelism: BIGINT, totalScheduledTasks: BIGINT, "
    f"autoCompactParallelismStats: {_PARALLELISM}, deletionVectorStats: "
    "STRUCT<numDeletionVectorsRemoved: BIGINT, numDeletionVectorRowsRemoved: BIGINT>, "
    "numTableColumns: BIGINT, numTableColumnsWithStats: BIGINT>"
)
"""The columns of the result, as DDL."""
