"""Scans of snapshots that are in no log: what to read goes to the workers with the query.

The tasks are the rows of a small DataFrame, not part of the function that reads them, so that a
worker gets its own task alone: a change of many files has a deletion vector in it for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import orjson
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType as SparkStructType

from lakebed.arrow.scan import ScanPlan
from lakebed.spark.columns.spark_types import visible_schema
from lakebed.spark.session.arrow_frames import arrow_frame
from lakebed.spark.session.carried_errors import carried
from lakebed.spark.workers.batches import file_batches
from lakebed.spark.workers.tasks import balanced

_NUMBER, _TASK = "number", "task"


@dataclass(frozen=True)
class ReadTask:
    """What `mapInArrow` runs: takes tasks, each a list of files as JSON, and gives their rows."""

    plan: ScanPlan

    @classmethod
    def of(cls, plan: ScanPlan) -> ReadTask:
        return cls(replace(plan, files=plan.files.schema.empty_table()))

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with carried():
            for batch in batches:
                for task in batch.column(_TASK).to_pylist():
                    for file in orjson.loads(task):
                        yield from file_batches(self.plan, file, self.plan.output)


def scan_plan(session: SparkSession, plan: ScanPlan, parallelism: int) -> DataFrame:
    """The rows of a plan, with the columns of its output."""
    tasks = task_table(plan, parallelism)
    frame = arrow_frame(session, tasks)
    if tasks.num_rows > parallelism:
        # Spark would make no more partitions of local rows than there are cores.
        frame = frame.repartitionByRange(tasks.num_rows, _NUMBER)
    shown = SparkStructType.fromJson(visible_schema(plan.output).to_json())
    return frame.mapInArrow(ReadTask.of(plan), shown)


def task_table(plan: ScanPlan, parallelism: int) -> pa.Table:
    """One row for each task."""
    files = plan.files.to_pylist()
    tasks = balanced([file["size"] for file in files], parallelism)
    texts = [orjson.dumps([files[place] for place in places]) for places in tasks]
    numbers = pa.array(range(len(tasks)), pa.int64())
    return pa.table({_NUMBER: numbers, _TASK: pa.array(texts, pa.binary())})
