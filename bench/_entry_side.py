"""The sides of `bench/entry.py`: see there.

python bench/_entry_side.py SIDE SETTINGS
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any

from _side_process import Lakebed, Side, serve

TIMES = 10
"""How often a small work is done in one round."""
_SERVE = "import sys; from lakebed.cli.main import main; sys.exit(main(sys.argv[1:]))"


class Classic(Lakebed):
    """A session in the process of its own JVM."""

    def about(self) -> dict[str, Any]:
        # Also of a Lakebed that is not installed, but found by PYTHONPATH.
        return {**super(Lakebed, self).about(), "version": "0"}

    # --- planning and small commits --------------------------------------------------------------

    def name(self, path: str, named: str) -> None:
        self._spark.sql(f"CREATE TABLE IF NOT EXISTS {named} USING delta LOCATION '{path}'")

    def plan_by_name(self, path: str, named: str) -> None:  # noqa: ARG002
        self._plan(f"SELECT id, price FROM {named} WHERE id > 10 AND day = 'mon'")

    def plan_by_path(self, path: str, named: str) -> None:  # noqa: ARG002
        self._plan(f"SELECT id, price FROM delta.`{path}` WHERE id > 10 AND day = 'mon'")

    def insert_values(self, path: str, named: str) -> None:  # noqa: ARG002
        for number in range(TIMES):
            self._spark.sql(f"INSERT INTO {named} VALUES ({number}, 1.5, 'mon')")

    def append_frame(self, path: str, named: str) -> None:  # noqa: ARG002
        rows = self._spark.createDataFrame([(1, 1.5, "mon")], "id LONG, price DOUBLE, day STRING")
        for _ in range(TIMES):
            rows.write.format("delta").mode("append").save(path)

    def delete_nothing(self, path: str, named: str) -> None:  # noqa: ARG002
        for _ in range(TIMES):
            self._spark.sql(f"DELETE FROM {named} WHERE id = -1")

    def update_one(self, path: str, named: str) -> None:  # noqa: ARG002
        for _ in range(TIMES):
            self._spark.sql(f"UPDATE {named} SET price = price + 1 WHERE id = 7")

    def _plan(self, text: str) -> None:
        for _ in range(TIMES):
            self._planned(self._spark.sql(text))

    def _planned(self, frame: Any) -> None:
        frame._jdf.queryExecution().executedPlan().toString()

    # --- whole tables ----------------------------------------------------------------------------

    def scan(self, path: str) -> None:
        rows = self._spark.read.format("delta").load(path)
        rows.write.format("noop").mode("overwrite").save()

    def write(self, path: str) -> None:
        target = str(Path(path).parent / f"written-{uuid.uuid4()}")
        rows = self._spark.read.format("delta").load(path)
        rows.write.format("delta").save(target)
        shutil.rmtree(target)


class Served(Classic):
    """A client of `lakebed server`, which runs beside it with the same settings."""

    def _session(self) -> Any:
        from pyspark.sql import SparkSession

        conf = [f"--conf={key}={value}" for key, value in self._settings.items()]
        command = [sys.executable, "-c", _SERVE, "server", "--port", "0", *conf]
        self._server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._server.stdout is not None
        address = self._server.stdout.readline().rpartition(" ")[2].strip()
        return SparkSession.builder.remote(address).create()

    def __init__(self, settings: dict[str, str]) -> None:
        Side.__init__(self, settings)
        self._spark = self._session()

    def about(self) -> dict[str, Any]:
        pids = {"python": os.getpid(), "server": self._server.pid}
        return {"version": "0", "spark": self._spark.version, "pids": pids}

    def settle(self, path: str) -> None:
        Side.settle(self, path)

    def close(self) -> None:
        self._spark.stop()
        self._server.terminate()
        self._server.wait(60)


class Start(Side):
    """A session from nothing to the answer of its first query, in a process that lives for that."""

    def __init__(self, settings: dict[str, str]) -> None:
        super().__init__(settings)
        # Importing Lakebed costs the same once, however many sessions there are: it is not counted.
        self._begin()

    def _begin(self) -> None:
        from pyspark.sql import SparkSession

        self._builder: Any = SparkSession.builder.appName("bench")
        for key, value in self._settings.items():
            self._builder = self._builder.config(key, value)

    def _look_at(self, path: str) -> None:
        """There is nothing to look at."""

    def start(self, path: str) -> None:  # noqa: ARG002
        self._first_query(self._builder.getOrCreate())

    def _first_query(self, spark: Any) -> None:
        assert spark.sql("SELECT 1").collect()[0][0] == 1
        self._spark = spark

    def close(self) -> None:
        self._spark.stop()


class StartEnabled(Start):
    def _begin(self) -> None:
        import lakebed

        super()._begin()
        # The public name is loaded when it is first used.
        self._enable = lakebed.enable

    def start(self, path: str) -> None:  # noqa: ARG002
        spark = self._builder.getOrCreate()
        begin = time.perf_counter()
        self._enable(spark)
        sys.stderr.write(f"enable: {1000 * (time.perf_counter() - begin):.0f} ms\n")
        self._first_query(spark)


SIDES: dict[str, type[Side]] = {
    "now": Classic,
    "before": Classic,
    "classic": Classic,
    "served": Served,
    "plain": Start,
    "enabled": StartEnabled,
}

if __name__ == "__main__":
    serve(SIDES)
