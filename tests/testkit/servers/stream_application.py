"""An application of four streams that is to be killed, and how to start one.

    python stream_application.py <plan as JSON>

All read one table of rows (id, key). Two are written by the sink into one table, each under its
name, one is merged into a table by its key, and one is appended by a function of its own with a
transaction for each batch. Each row must be stored exactly once by three of them, and the row with
the greatest id of each key by the other. The application says `session` when Spark is there and
begins, `running` when all streams have started, and ends when none has anything left, if the plan
says so.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

KEYS = 40
SINKS = ("first", "second")
MERGE, APPEND = "merge", "append"
STREAMS = (*SINKS, MERGE, APPEND)


@dataclass(frozen=True)
class Plan:
    tables: str
    """The folder or bucket of `source`, `copies`, `merged` and `appended`."""
    checkpoints: str
    to_the_end: bool
    """With Trigger.AvailableNow, otherwise without an end."""
    storage_options: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)

    def table(self, name: str) -> str:
        return f"{self.tables}/{name}"

    def checkpoint(self, stream: str) -> Path:
        return Path(self.checkpoints) / stream


class Application:
    """A process with a Spark of its own, as the head of a group that is killed as a whole."""

    def __init__(self, plan: Plan, errors: Path) -> None:
        self._errors = errors
        self._stream = errors.open("ab")
        self._process: subprocess.Popen[str] = subprocess.Popen(
            [sys.executable, str(Path(__file__).resolve()), json.dumps(asdict(plan))],
            stdout=subprocess.PIPE,
            stderr=self._stream,
            text=True,
            start_new_session=True,
        )

    def wait_for(self, word: str) -> None:
        """Until it says so; fails if it ends before."""
        for line in self._output:
            if line.strip() == word:
                return
        raise AssertionError(f"it ended before it said {word}: {self.last_words()}")

    def kill(self) -> None:
        """Python, Java and Python's workers at once."""
        self._require_life()
        os.killpg(self._process.pid, signal.SIGKILL)
        self._close()

    def finish(self, seconds: float) -> None:
        """Until its end, which has to be a good one."""
        self._output.read()
        status = self._process.wait(seconds)
        assert status == 0, self.last_words()
        self._close()

    def close(self) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._close()

    def last_words(self) -> str:
        return self._errors.read_text(errors="replace")[-4000:]

    @property
    def _output(self) -> IO[str]:
        assert self._process.stdout is not None
        return self._process.stdout

    def _require_life(self) -> None:
        assert self._process.poll() is None, f"it ended by itself: {self.last_words()}"

    def _close(self) -> None:
        self._process.wait(60)
        self._output.close()
        self._stream.close()


def main(text: str) -> None:
    import lakebed

    plan = Plan(**json.loads(text))
    spark = lakebed.session(
        "killed",
        master="local[2]",
        spark_ui_enabled=False,
        spark_ui_showConsoleProgress=False,
        spark_driver_host="127.0.0.1",
        spark_driver_memory="512m",
        spark_sql_shuffle_partitions=1,
        **plan.settings,
    )
    spark.sparkContext.setLogLevel("ERROR")
    print("session", flush=True)
    streams = [_started(spark, plan, name) for name in STREAMS]
    print("running", flush=True)
    while any(stream.isActive for stream in streams):
        # One that fails ends the application.
        spark.streams.awaitAnyTermination()
        spark.streams.resetTerminated()
    failures = [stream.exception() for stream in streams if stream.exception()]
    spark.stop()
    sys.exit("\n".join(map(str, failures)) or None)


def _started(spark: Any, plan: Plan, name: str) -> Any:
    # Many small batches to be killed in, and then few large ones.
    files = 1000 if plan.to_the_end else 1 + STREAMS.index(name)
    options = {**plan.storage_options, "maxFilesPerTrigger": str(files)}
    rows = spark.readStream.format("delta").options(**options).load(plan.table("source"))
    if name in SINKS:
        rows = rows.selectExpr("id", "key", f"'{name}' AS stream")
    writer = rows.writeStream.option("checkpointLocation", str(plan.checkpoint(name)))
    if plan.to_the_end:
        writer = writer.trigger(availableNow=True)
    if name == MERGE:
        return writer.foreachBatch(_merger(plan)).start()
    if name == APPEND:
        return writer.foreachBatch(_appender(plan)).start()
    return writer.format("delta").options(**plan.storage_options).start(plan.table("copies"))


def _merger(plan: Plan) -> Any:
    import lakebed

    def merge(batch: Any, _: int) -> None:
        newest = batch.groupBy("key").agg({"id": "max"}).withColumnRenamed("max(id)", "id")
        path = plan.table("merged")
        table = lakebed.DeltaTable.forPath(batch.sparkSession, path, dict(plan.storage_options))
        matched = table.alias("t").merge(newest.alias("s"), "t.key = s.key")
        updated = matched.whenMatchedUpdate("s.id > t.id", {"id": "s.id"})
        updated.whenNotMatchedInsertAll().execute()

    return merge


def _appender(plan: Plan) -> Any:
    def append(batch: Any, number: int) -> None:
        writer = batch.write.format("delta").mode("append").options(**plan.storage_options)
        writer = writer.option("txnAppId", "appended").option("txnVersion", number)
        writer.save(plan.table("appended"))

    return append


if __name__ == "__main__":
    main(sys.argv[1])
