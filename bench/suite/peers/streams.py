"""Streams of the three peers on Spark, from a table to a table of the same format."""

from __future__ import annotations

import time
from typing import Any

from suite.peers.base import After


class Streams:
    """For peers with `spark`, `format` and `read`."""

    format: str
    spark: Any

    def stream(
        self, path: str, target: str, checkpoint: str, files: int, from_start: bool = False
    ) -> After:
        """All that is there, in batches of at most so many files."""
        reader = self._stream_of(path, files, from_start=from_start)
        writer = reader.writeStream.format(self.format).option("checkpointLocation", checkpoint)
        query = writer.trigger(availableNow=True).start(target)
        query.awaitTermination()
        return lambda: _facts(query)

    def first_batch(self, path: str, checkpoint: str, files: int) -> After:
        """From nothing until the rows of the first batch are there, of a stream that would go on
        after it."""
        reader = self._stream_of(path, files)
        writer = reader.writeStream.format("noop").option("checkpointLocation", checkpoint)
        query = writer.start()
        while (progress := query.lastProgress) is None:
            failure = query.exception()
            if failure is not None:
                raise failure
            time.sleep(0.01)

        def end() -> list[Any]:
            query.stop()
            return [progress["numInputRows"]]

        return end

    def _stream_of(self, path: str, files: int, *, from_start: bool = False) -> Any:
        reader = self.spark.readStream.format(self.format).option("maxFilesPerTrigger", files)
        if self.format != "delta":
            return reader.schema(self.spark.read.format(self.format).load(path).schema).load(path)
        return (reader.option("startingVersion", "0") if from_start else reader).load(path)


def _facts(query: Any) -> list[Any]:
    """How many batches there were, and how many rows."""
    rows = [progress["numInputRows"] for progress in query.recentProgress]
    return [sum(1 for count in rows if count), sum(rows)]
