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
from typing import Any, TextIO

_DELTA_SPARK = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}


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
        for key, value in {**self._settings, **_DELTA_SPARK}.items():
            builder = builder.config(key, value)
        return builder.getOrCreate()


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
    """Does what it is asked for until nobody asks any more."""
    # Java and its libraries print what they like: only answers go where answers are read.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    side = sides[sys.argv[1]](json.loads(sys.argv[2]))
    _answer(answers, side.about())
    for line in sys.stdin:
        request = json.loads(line)
        work = getattr(side, request.pop("do"))
        start = time.perf_counter()
        work(**request)
        _answer(answers, {"seconds": time.perf_counter() - start})
    side.close()


def _answer(answers: TextIO, content: Mapping[str, Any]) -> None:
    answers.write(json.dumps(content) + "\n")
    answers.flush()
