"""Files of a scan dealt to tasks, and scans of snapshots that are in no log.

What to read of such a snapshot goes to the workers with the query. The tasks are the rows of a
small DataFrame, not part of the function that reads them, so that a worker gets its own task alone:
a change of many files has a deletion vector in it for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heapreplace

import orjson
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType as SparkStructType

from lakebed.arrow.scan import ScanPlan
from lakebed.spark.columns.spark_types import visible_schema
from lakebed.spark.errors.encoded_errors import encoding_errors
from lakebed.spark.session.arrow_frames import arrow_frame
from lakebed.spark.workers.batches import file_batches

DEFAULT_PARALLELISM = 8
"""Where the number of cores is not known."""
TASK_BYTES = 128 * 1024 * 1024
OPEN_BYTES = 4 * 1024 * 1024
"""The cost of opening a file, as bytes that could be read meanwhile; Spark's own estimate."""

_NUMBER, _TASK = "number", "task"


@dataclass(frozen=True)
class ReadTask:
    """What `mapInArrow` runs: takes tasks, each a list of files as JSON, and gives their rows."""

    plan: ScanPlan

    @classmethod
    def of(cls, plan: ScanPlan) -> ReadTask:
        return cls(replace(plan, files=plan.files.schema.empty_table()))

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with encoding_errors():
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


def balanced(sizes: Sequence[int], parallelism: int) -> list[list[int]]:
    """The places of the files of each task: enough tasks for all cores, none much too large."""
    costs = [size + OPEN_BYTES for size in sizes]
    wanted = max(-(-sum(costs) // TASK_BYTES), parallelism)
    tasks: list[list[int]] = [[] for _ in range(min(wanted, len(costs)))]
    loads = [(0, number) for number in range(len(tasks))]
    heapify(loads)
    for place in sorted(range(len(costs)), key=lambda place: -costs[place]):
        load, number = loads[0]
        tasks[number].append(place)
        heapreplace(loads, (load + costs[place], number))
    return tasks
