"""Queries that copy the stream of a table."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

Rows = list[tuple[object, ...]]


@dataclass
class Copy:
    """A query that appends the rows of a stream to Parquet files, run after run."""

    spark: SparkSession
    source: str
    folder: Path
    change: Callable[[DataFrame], DataFrame] = lambda frame: frame
    """What the query does with the rows."""

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint"

    def run(self, **options: object) -> Rows:
        """Until nothing is new. Gives all rows that were written so far."""
        self.start(**options).awaitTermination(120)
        return self.rows()

    def start(self, *, name: str | None = None, **options: object) -> StreamingQuery:
        reader = self.spark.readStream.format("delta").options(**options)  # type: ignore[arg-type]
        frame = self.change(reader.load(self.source) if name is None else reader.table(name))
        writer = frame.writeStream.format("parquet").option("path", str(self.folder / "copy"))
        writer = writer.option("checkpointLocation", str(self.checkpoint))
        return writer.trigger(availableNow=True).start()

    def rows(self) -> Rows:
        read = self.spark.read.option("mergeSchema", "true").parquet(str(self.folder / "copy"))
        return sorted((tuple(row) for row in read.collect()), key=str)

    def offsets(self) -> list[tuple[int, int, bool]]:
        """Version, index and whether it is initial, of all batches."""
        files = (self.checkpoint / "offsets").glob("[0-9]*")
        found: list[Any] = [
            json.loads(file.read_text().splitlines()[2])
            for file in sorted(files, key=lambda file: int(file.name))
        ]
        return [(o["reservoirVersion"], o["index"], o["isStartingVersion"]) for o in found]


def append(spark: SparkSession, path: str, ids: range) -> None:
    rows = spark.range(ids.start, ids.stop, 1, 1).selectExpr("id", "id * 10 AS v")
    rows.write.format("delta").mode("append").save(path)


def expected(ids: range) -> Rows:
    return sorted(((each, each * 10) for each in ids), key=str)
