"""Tables that the tests of Spark writes make and look at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import lakebed
from lakebed.commands.target.write_options import WriteOptions
from lakebed.commands.target.write_target import new_table
from lakebed.data_files.file_layout import HANDLED_FEATURES
from lakebed.spec.schema import StructType
from lakebed.storage import open_store
from lakebed.transaction import Operation, Transaction


def create(
    path: Path | str,
    schema: StructType,
    partition_by: Sequence[str] = (),
    properties: Mapping[str, str] | None = None,
) -> None:
    """An empty table, whatever the metadata of its columns says."""
    options = WriteOptions(partition_by=tuple(partition_by), properties=properties or {})
    target = new_table(schema, options)
    store = open_store(str(path))
    change = Transaction(
        None, store=store, operation=Operation("CREATE TABLE", {}), handles=HANDLED_FEATURES
    )
    change.stage(target.protocol, target.metadata)
    change.commit().unwrap()


def save(frame: DataFrame, path: Path | str, mode: str = "append", **options: Any) -> None:
    frame.write.format("delta").mode(mode).options(**options).save(str(path))


def load(spark: SparkSession, path: Path | str) -> DataFrame:
    return spark.read.format("delta").load(str(path))


def last_commit(path: Path) -> dict[str, Any]:
    (row,) = lakebed.open(path).history(1).to_pylist()
    return {
        **row,
        **{key: dict(row[key] or ()) for key in ("operationParameters", "operationMetrics")},
    }


@contextmanager
def settings(spark: SparkSession, values: Mapping[str, str]) -> Iterator[None]:
    """Settings of the session for a while."""
    before = {key: spark.conf.get(key, None) for key in values}
    for key, value in values.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, value in before.items():
            spark.conf.unset(key) if value is None else spark.conf.set(key, value)


@contextmanager
def job_count(spark: SparkSession, name: str) -> Iterator[list[int]]:
    """The numbers of the Spark jobs that run inside."""
    context = spark.sparkContext
    found: list[int] = []
    context.setJobGroup(name, name)
    try:
        yield found
        found.extend(context.statusTracker().getJobIdsForGroup(name))
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)
