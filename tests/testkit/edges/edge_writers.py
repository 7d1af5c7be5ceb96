"""Every way in which Lakebed writes data files, for tables with the rows of `edge_table`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import lakebed
from testkit.edges.edge_values import ROWS, edge_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Writer = Callable[["SparkSession", Path], None]

ALL_INDEXED = {"delta.dataSkippingNumIndexedCols": "-1"}
_VECTORS = {"delta.enableDeletionVectors": "true"}
_HALF = ROWS // 2


def append_on_spark(spark: SparkSession, path: Path) -> None:
    _create(path)
    _append(_on_spark(spark, path), path)


def append_local_rows(spark: SparkSession, path: Path) -> None:
    """What INSERT ... VALUES does: the plan itself has the rows, and pyarrow writes them."""
    _create(path)
    _append(_local(spark), path)


def append_on_arrow(spark: SparkSession, path: Path) -> None:  # noqa: ARG001
    lakebed.write(path, edge_table(), properties=ALL_INDEXED)


def append_by_workers(spark: SparkSession, path: Path) -> None:
    _create(path)
    with setting(spark, "spark.lakebed.dataPlane", "workers"):
        _append(_on_spark(spark, path), path)


def replace_on_arrow(spark: SparkSession, path: Path) -> None:
    """The rows that stay are written again."""
    append_on_arrow(spark, path)
    new = edge_table().slice(0, _HALF)
    lakebed.write(path, new, mode="overwrite", replace_where=f"id < {_HALF}")


def optimize_on_arrow(spark: SparkSession, path: Path) -> None:
    _halves(path)
    lakebed.DeltaTable.forPath(spark, str(path)).optimize().executeCompaction()


def optimize_on_spark(spark: SparkSession, path: Path) -> None:
    with setting(spark, "spark.lakebed.optimize.localBytes", "0"):
        optimize_on_arrow(spark, path)


def zorder_on_arrow(spark: SparkSession, path: Path) -> None:
    _halves(path)
    table = lakebed.DeltaTable.forPath(spark, str(path))
    table.optimize().executeZOrderBy("double_nan", "text_long", "at_old")


def zorder_on_spark(spark: SparkSession, path: Path) -> None:
    with setting(spark, "spark.lakebed.optimize.localBytes", "0"):
        zorder_on_arrow(spark, path)


def merge(spark: SparkSession, path: Path) -> None:
    lakebed.write(path, edge_table().slice(0, _HALF), properties=ALL_INDEXED)
    target = lakebed.DeltaTable.forPath(spark, str(path)).alias("t")
    matched = target.merge(_on_spark(spark, path).alias("s"), "t.id = s.id")
    matched.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()


def update_by_copies(spark: SparkSession, path: Path) -> None:
    append_on_arrow(spark, path)
    _update(spark, path)


def update_by_vectors(spark: SparkSession, path: Path) -> None:
    lakebed.write(path, edge_table(), properties={**ALL_INDEXED, **_VECTORS})
    _update(spark, path)


def clone_deep(spark: SparkSession, path: Path) -> None:
    source = path.with_name(f"{path.name}_source")
    append_local_rows(spark, source)
    lakebed.open(source).clone(str(path))


def clone_shallow(spark: SparkSession, path: Path) -> None:
    source = path.with_name(f"{path.name}_source")
    append_local_rows(spark, source)
    lakebed.open(source).clone(str(path), shallow=True)


def convert(spark: SparkSession, path: Path) -> None:
    _on_spark(spark, path).write.parquet(str(path))
    lakebed.DeltaTable.convertToDelta(spark, f"parquet.`{path}`")


WRITERS: Mapping[str, Writer] = {
    each.__name__: each
    for each in (
        append_on_spark,
        append_local_rows,
        append_on_arrow,
        append_by_workers,
        replace_on_arrow,
        optimize_on_arrow,
        optimize_on_spark,
        zorder_on_arrow,
        zorder_on_spark,
        merge,
        update_by_copies,
        update_by_vectors,
        clone_deep,
        clone_shallow,
        convert,
    )
}

BY_SPARK = frozenset(
    ["append_on_spark", "optimize_on_spark", "zorder_on_spark", "merge", "convert"]
)
"""Those whose files Spark's own Parquet writer writes; all others use pyarrow."""
BY_OTHERS = frozenset(["convert"])
"""Those whose files are there before Lakebed comes."""


@contextmanager
def setting(spark: SparkSession, name: str, value: str) -> Iterator[None]:
    spark.conf.set(name, value)
    try:
        yield
    finally:
        spark.conf.unset(name)


def _create(path: Path) -> None:
    lakebed.write(path, edge_table().slice(0, 0), properties=ALL_INDEXED)


def _halves(path: Path) -> None:
    for start in range(0, ROWS, _HALF):
        lakebed.write(path, edge_table().slice(start, _HALF), properties=ALL_INDEXED)


def _append(frame: DataFrame, path: Path) -> None:
    frame.write.format("delta").mode("append").save(str(path))


def _local(spark: SparkSession) -> DataFrame:
    with setting(spark, "spark.sql.timestampType", "TIMESTAMP_NTZ"):
        return spark.createDataFrame(edge_table())


def _on_spark(spark: SparkSession, path: Path) -> DataFrame:
    """The rows from a table, in one task, so that a job writes them as one file."""
    source = path.with_name(f"{path.name}_rows")
    lakebed.write(source, edge_table())
    return spark.read.format("delta").load(str(source)).repartition(1)


def _update(spark: SparkSession, path: Path) -> None:
    """Of some rows; the values stay the same."""
    table = lakebed.DeltaTable.forPath(spark, str(path))
    table.update(f"id >= {_HALF}", {"id": "id + 0"})
