"""What one side of a comparison is in its own process: a session, and answers to requests.

    python bench/_dml_side.py SIDE SETTINGS

Requests come as lines of JSON on the standard input, answers go as lines to the standard output.
The other end is `bench/_sides.py`.
"""

from __future__ import annotations

import gc
import importlib.metadata
import json
import os
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parent.parent / "tools"))

import peer_process


class Side(ABC):
    """Subclasses have a method for each kind of work."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._settings = settings

    def about(self) -> dict[str, Any]:
        """The versions of what does the work, and the processes that do it."""
        return {"pids": {"python": os.getpid()}}

    def settle(self, path: str) -> None:
        """Before the clock starts: nobody pays for what was left behind, and who remembers tables
        has seen this one."""
        self._look_at(path)
        gc.collect()

    @abstractmethod
    def _look_at(self, path: str) -> None: ...

    def close(self) -> None:  # noqa: B027
        """Nothing to close, unless a side says otherwise."""


class OnSpark(Side):
    def __init__(self, settings: Mapping[str, str]) -> None:
        super().__init__(settings)
        self._spark = self._session()
        self._spark.sparkContext.setLogLevel("ERROR")

    @abstractmethod
    def _session(self) -> Any: ...

    def about(self) -> dict[str, Any]:
        java = self._spark._jvm.java.lang.ProcessHandle.current().pid()
        pids = {"python": os.getpid(), "jvm": int(java)}
        return {"spark": self._spark.version, "pids": pids}

    def settle(self, path: str) -> None:
        super().settle(path)
        self._spark._jvm.java.lang.System.gc()

    def _look_at(self, path: str) -> None:
        self._spark.read.format("delta").load(path).where("id = 1").collect()

    def close(self) -> None:
        self._spark.stop()


class Lakebed(OnSpark):
    def _session(self) -> Any:
        import lakebed

        return lakebed.session("bench", **self._settings)

    def about(self) -> dict[str, Any]:
        return {"version": importlib.metadata.version("lakebed"), **super().about()}

    def _table(self, path: str) -> Any:
        import lakebed

        return lakebed.DeltaTable.forPath(self._spark, path)


class DeltaSpark(OnSpark):
    """In SQL, so that its JAR is all that is needed of it."""

    def _session(self) -> Any:
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.appName("bench")
        for key, value in {**self._settings, **peer_process.DELTA_SPARK_SETTINGS}.items():
            builder = builder.config(key, value)
        return builder.getOrCreate()


class Standalone(Side):
    """Lakebed without Spark."""

    def about(self) -> dict[str, Any]:
        return {"version": importlib.metadata.version("lakebed"), **super().about()}

    def _look_at(self, path: str) -> None:
        self._table(path).files()

    def _table(self, path: str) -> Any:
        import lakebed

        return lakebed.open(path)


class Deltalake(Side):
    """The package of that name, without Spark."""

    def about(self) -> dict[str, Any]:
        return {"version": importlib.metadata.version("deltalake"), **super().about()}

    def _look_at(self, path: str) -> None:
        self._table(path).file_uris()

    def _table(self, path: str) -> Any:
        import deltalake

        return deltalake.DeltaTable(path)


def serve(sides: Mapping[str, type[Side]]) -> None:
    """Does what it is asked for until the other end closes."""
    answers = peer_process.answer_stream()
    side = sides[sys.argv[1]](json.loads(sys.argv[2]))

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        work = getattr(side, request.pop("do"))
        start = time.perf_counter()
        work(**request)
        return {"seconds": time.perf_counter() - start}

    peer_process.serve(answers, side.about(), answer)
    side.close()
