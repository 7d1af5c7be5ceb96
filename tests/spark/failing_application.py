"""An application whose tasks fail while they write Delta tables, each in a way of its own.

python failing_application.py MASTER FOLDER SCENARIO...

Every scenario appends 1,000 rows to a table of its own in FOLDER, which has ten rows already. Rows
are written as they come, so that a task that fails has finished some of its files. The attempts of
tasks leave files in `FOLDER/marks` that prove that they did what they are here for.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import SparkSession

import lakebed

ROWS, TASKS, ROWS_PER_FILE = 1000, 4, 50
PATIENCE = 60.0

Batches = Iterator[pa.RecordBatch]


def main(master: str, folder: str, *scenarios: str) -> None:
    spark = lakebed.session(
        "lakebed-failures",
        master=master,
        spark_driver_host="127.0.0.1",
        spark_ui_enabled=False,
        spark_executor_memory="512m",
        spark_driver_memory="512m",
        **{
            "spark.task.maxFailures": 4,
            # Rows reach the writer at once, and not when 64 kB of them are there.
            "spark.buffer.size": 1024,
            "spark.speculation": True,
            "spark.speculation.interval": "100ms",
            "spark.speculation.quantile": 0.5,
            # Both executors are there before the first task.
            "spark.scheduler.minRegisteredResourcesRatio": "1.0",
            "spark.scheduler.maxRegisteredResourcesWaitingTime": "60s",
        },
    )
    try:
        errors = {name: append(spark, Path(folder), name) for name in scenarios}
    finally:
        spark.stop()
    print(json.dumps(errors))


def append(spark: SparkSession, folder: Path, name: str) -> str | None:
    """What the write raised, if it did."""
    task = partial(SCENARIOS[name], Marks(folder / "marks", name))
    ids = spark.range(0, ROWS, numPartitions=TASKS).mapInArrow(task, "id LONG")
    try:
        writer = ids.write.format("delta").mode("append")
        writer.option("maxRecordsPerFile", ROWS_PER_FILE).save(str(folder / name))
    except Exception as error:  # noqa: BLE001 - which error it is, is for the test to judge
        return type(error).__name__
    return None


class Marks:
    """Files by which attempts of tasks, in whatever process, tell what they did."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.name = name
        self.before = set(self._data_files("part-*"))

    def set(self, partition: int, attempt: int) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._file(partition, attempt).touch()

    def wait_for(self, partition: int, attempt: int) -> None:
        deadline = time.monotonic() + PATIENCE
        while not self._file(partition, attempt).exists() and time.monotonic() < deadline:
            time.sleep(0.02)

    def wait_for_files(self, partition: int) -> None:
        """Until the task has a file and begun another, however busy the machine is."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if len(set(self._data_files(f"part-{partition:05}-*")) - self.before) > 1:
                return
            time.sleep(0.02)

    def _data_files(self, names: str) -> list[str]:
        table = self.folder.parent / self.name
        return [file.name for file in table.glob(f"{names}.parquet")]

    def _file(self, partition: int, attempt: int) -> Path:
        return self.folder / f"{self.name}-{partition}-{attempt}"


def fails_once(marks: Marks, batches: Batches) -> Batches:
    """The first attempts of half of the tasks fail after most of their rows have been written."""
    partition, attempt = _who_am_i()
    most, last = _split(batches)
    yield from most
    if partition % 2 == 0 and attempt == 0:
        marks.set(partition, attempt)
        raise RuntimeError("this attempt was to fail")
    yield last


def loses_its_executor(marks: Marks, batches: Batches) -> Batches:
    """The executor of the first task dies, with all that it was doing."""
    partition, attempt = _who_am_i()
    most, last = _split(batches)
    yield from most
    if partition == 0 and attempt == 0:
        marks.set(partition, attempt)
        marks.wait_for_files(partition)
        os.kill(_executor(), signal.SIGKILL)
        time.sleep(PATIENCE)
    yield last


def straggles(marks: Marks, batches: Batches) -> Batches:
    """The first task waits until Spark has started it a second time; then both finish at once."""
    partition, attempt = _who_am_i()
    most, last = _split(batches)
    yield from most
    if partition == 0:
        marks.set(partition, attempt)
        if attempt == 0:
            marks.wait_for(partition, 1)
    yield last


def fails_for_good(marks: Marks, batches: Batches) -> Batches:
    partition, attempt = _who_am_i()
    most, last = _split(batches)
    yield from most
    if partition == 1:
        marks.set(partition, attempt)
        raise RuntimeError("this task was to fail")
    yield last


def hangs(marks: Marks, batches: Batches) -> Batches:
    """Never ends, so that the application can be killed while it writes."""
    partition, attempt = _who_am_i()
    most, last = _split(batches)
    yield from most
    marks.set(partition, attempt)
    time.sleep(PATIENCE)
    yield last


SCENARIOS: dict[str, Callable[[Marks, Batches], Batches]] = {
    task.__name__: task
    for task in (fails_once, loses_its_executor, straggles, fails_for_good, hangs)
}


def _who_am_i() -> tuple[int, int]:
    context = TaskContext.get()
    assert context is not None
    return context.partitionId(), context.attemptNumber()


def _split(batches: Batches) -> tuple[list[pa.RecordBatch], pa.RecordBatch]:
    """The rows of a task, in batches as large as a data file; and the last row."""
    (batch,) = batches
    most = batch.num_rows - 1
    parts = [
        batch.slice(start, min(ROWS_PER_FILE, most - start))
        for start in range(0, most, ROWS_PER_FILE)
    ]
    return parts, batch.slice(most)


def _executor() -> int:
    """The process id of the JVM: the parent of the daemon that this worker was forked from."""
    status = Path(f"/proc/{os.getppid()}/status").read_text()
    return int(status.split("PPid:")[1].split()[0])


if __name__ == "__main__":
    main(*sys.argv[1:])
