"""An application on the workers plane whose tasks fail after files of theirs were written.

python failing_worker_application.py FOLDER

Appends 400 rows to each of two tables in FOLDER. In the first, half of the tasks fail at first
attempt; in the second, they fail at every attempt.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from functools import partial

import pyarrow as pa
from pyspark import TaskContext

import lakebed


def main(folder: str) -> None:
    spark = lakebed.session(
        "lakebed-worker-failures",
        master="local[2,4]",  # the second number is how often a task may be tried
        spark_ui_enabled=False,
        spark_driver_host="127.0.0.1",
        spark_driver_memory="512m",
        **{
            "spark.lakebed.dataPlane": "workers",
            "spark.sql.execution.arrow.maxRecordsPerBatch": 10,
            "spark.buffer.size": 1024,
        },
    )
    errors = {}
    for name, attempts in (("fails_once", 1), ("fails_for_good", 99)):
        rows = spark.range(0, 400, numPartitions=4)
        ids = rows.mapInArrow(partial(fail_late, attempts), "id LONG")
        writer = ids.write.format("delta").mode("append").option("maxRecordsPerFile", 10)
        errors[name] = raised_by(writer, f"{folder}/{name}")
    spark.stop()
    print(json.dumps(errors))


def raised_by(writer: object, path: str) -> str | None:
    try:
        writer.save(path)  # type: ignore[attr-defined]
    except Exception as error:  # noqa: BLE001 - which error it is, is for the test to judge
        return type(error).__name__
    return None


def fail_late(attempts: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches
    context = TaskContext.get()
    assert context is not None
    if context.partitionId() % 2 == 0 and context.attemptNumber() < attempts:
        # Meanwhile the next worker writes what it got.
        time.sleep(1)
        raise RuntimeError("this attempt was to fail")


if __name__ == "__main__":
    main(*sys.argv[1:])
