"""Streams for tests: folders of files that grow, and queries that take what is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter


@dataclass(frozen=True)
class Feed:
    """Each file is a batch, in the order in which they came."""

    folder: Path

    def add(self, rows: Sequence[Mapping[str, Any]] | pa.Table) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        data = rows if isinstance(rows, pa.Table) else pa.Table.from_pylist(list(rows))
        number = len(list(self.folder.glob("*.parquet")))
        part = self.folder / f".{number:05}"
        pq.write_table(data, part)
        part.rename(self.folder / f"{number:05}.parquet")

    def frame(self, spark: SparkSession, schema: str) -> DataFrame:
        reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
        return reader.parquet(str(self.folder))


def writer(frame: DataFrame, checkpoint: Path, **options: Any) -> DataStreamWriter:
    stream = frame.writeStream.format("delta").options(**options)
    return stream.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)


def run(stream: DataStreamWriter, path: Path | None = None) -> StreamingQuery:
    """Takes all that is there; an error of the query is raised."""
    query = stream.start() if path is None else stream.start(str(path))
    try:
        assert query.awaitTermination(600)
    finally:
        query.stop()
    return query


def forget_last_commit(checkpoint: Path) -> int:
    """As if Spark had died after the sink had the batch, and before it wrote that down."""
    number = max(int(each.name) for each in (checkpoint / "commits").glob("[0-9]*"))
    (checkpoint / "commits" / str(number)).unlink()
    (checkpoint / "commits" / f".{number}.crc").unlink(missing_ok=True)
    return number
