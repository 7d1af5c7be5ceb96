"""What the three peers on Spark have in common: all but the commands of Delta tables."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import Any

from suite.peers.base import After, Peer
from suite.peers.streams import Streams
from suite.rows import facts_of_result, one_row, plain
from suite.tpch import TABLES, query_text


class OnSpark(Streams, Peer):
    format = "delta"

    def __init__(self, settings: Mapping[str, str]) -> None:
        super().__init__({k: v for k, v in settings.items() if k.startswith("spark.")})
        self.spark = self.session()
        self.spark.sparkContext.setLogLevel("ERROR")
        self._java_gc = self.spark._jvm.java.lang.System.gc

    def session(self) -> Any:
        raise NotImplementedError

    def about(self) -> dict[str, Any]:
        java = self.spark._jvm.java.lang.ProcessHandle.current().pid()
        system = self.spark._jvm.java.lang.System
        return {
            "spark": self.spark.version,
            "java": system.getProperty("java.version"),
            "pids": {"python": os.getpid(), "jvm": int(java)},
        }

    def settle(self) -> None:
        super().settle()
        self._java_gc()

    def close(self) -> None:
        self.spark.stop()

    def read(self, path: str) -> Any:
        return self.spark.read.format(self.format).load(path)

    # --- TPC-H ----------------------------------------------------------------------------------

    def load(self, source: str, target: str) -> None:
        for table in TABLES:
            frame = self.spark.read.parquet(f"{source}/{table}.parquet")
            frame.write.format(self.format).save(f"{target}/{table}")

    def tables(self, folder: str) -> None:
        for table in TABLES:
            self.read(f"{folder}/{table}").createOrReplaceTempView(table)

    def query(self, number: int) -> After:
        rows = self.spark.sql(query_text(number)).collect()
        return lambda: facts_of_result(rows)

    # --- reading --------------------------------------------------------------------------------

    def scan(self, path: str) -> None:
        """All columns of all rows, to nowhere."""
        self.read(path).write.format("noop").mode("overwrite").save()

    def digest(self, path: str) -> None:
        """All columns of all rows, to one number: delta-spark cannot send rows with vectors to
        nowhere."""
        self.read(path).selectExpr("max(xxhash64(*))").collect()

    def list_files(self, path: str) -> After:
        files = self.read(path)._jdf.inputFiles()
        return lambda: [len(files)]

    def plan(self, path: str, where: str) -> None:
        """From nothing to a physical plan that knows its files."""
        self.read(path).where(where)._jdf.queryExecution().toRdd().getNumPartitions()

    def facts(self, path: str, expressions: list[str]) -> After:
        rows = self.read(path).selectExpr(*expressions).collect()
        return lambda: plain(rows[0])

    # --- writing --------------------------------------------------------------------------------

    def append(self, path: str, times: int = 1) -> None:
        for number in range(times):
            frame = self.spark.createDataFrame(one_row(number))
            frame.write.format(self.format).mode("append").save(path)

    def append_by(self, path: str, writers: int, times: int) -> None:
        """So many writers at once, threads of this process."""
        at_once(writers, lambda: self.append(path, times))


def at_once(writers: int, work: Any) -> None:
    """All of them do the work; the first failure is raised when all have ended."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001  raised below
            failures.append(error)

    threads = [threading.Thread(target=run) for _ in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
