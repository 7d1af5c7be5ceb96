"""`DeltaTable.optimize()`: the builder of delta-spark, with its names and its result."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql import DataFrame, Row

from lakebed.commands.optimize.optimize import optimize
from lakebed.commands.optimize.optimize_request import OptimizeRequest
from lakebed.commands.optimize.optimize_run import Optimized
from lakebed.commands.optimize.upgrade_uniform import upgrade_uniform
from lakebed.commands.target.column_names import to_path
from lakebed.commands.target.row_target import RowTarget
from lakebed.errors import InvalidArgumentError
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
            raise InvalidArgumentError(
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
            raise InvalidArgumentError(
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
            raise InvalidArgumentError(
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
        "numBins": done.num_bins,
        "numBatches": done.num_batches,
        "totalConsideredFiles": done.num_considered,
        "totalFilesSkipped": done.num_considered - len(done.removed),
        "preserveInsertionOrder": False,
        "startTimeMs": done.started_ms,
        "endTimeMs": int(time.time() * 1000),
        "deletionVectorStats": Row(
            numDeletionVectorsRemoved=len(vectors),
            numDeletionVectorRowsRemoved=sum(vector.cardinality for vector in vectors),
        ),
    }
    row = (target.log.store.url, Row(**metrics))
    return target.session.createDataFrame([row], _SCHEMA)


def _sizes(adds: Sequence[Add]) -> Row:
    sizes = [add.size for add in adds]
    return Row(
        min=min(sizes) if sizes else None,
        max=max(sizes) if sizes else None,
        avg=sum(sizes) / len(sizes) if sizes else 0.0,
        totalFiles=len(sizes),
        totalSize=sum(sizes),
    )


_SIZES = "struct<min: bigint, max: bigint, avg: double, totalFiles: bigint, totalSize: bigint>"
_SCHEMA = f"""path string, metrics struct<
    numFilesAdded: bigint, numFilesRemoved: bigint, filesAdded: {_SIZES}, filesRemoved: {_SIZES},
    partitionsOptimized: bigint, numBins: bigint, numBatches: bigint,
    totalConsideredFiles: bigint, totalFilesSkipped: bigint, preserveInsertionOrder: boolean,
    startTimeMs: bigint, endTimeMs: bigint, deletionVectorStats: struct<
    numDeletionVectorsRemoved: bigint, numDeletionVectorRowsRemoved: bigint>>"""
