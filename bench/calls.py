"""How many calls to the JVM a command on Spark takes, and how long it takes on a tiny table.

Beside the calls of Python stand those of the JVM: how often a plan asks Python back for files.

    python bench/calls.py                     all commands
    python bench/calls.py append vacuum       some of them

Counts do not depend on the machine. With --as-before the columns are made with PySpark's notes of
where, and settings are read one by one, as Lakebed did before decisions 0018 and 0019.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import lakebed

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))

from testkit.gauges import gateway_commands

ROWS, ROUNDS = 20_000, 5
Work = Callable[[Any, Path], Any]


def rows(ids: Any) -> pa.Table:
    return pa.table({"id": ids, "price": ids * 0.25, "name": [f"name {i}" for i in ids.tolist()]})


def append(spark: Any, path: Path) -> None:
    frame = spark.createDataFrame(rows(np.arange(1)))
    frame.write.format("delta").mode("append").save(str(path))


def merge(spark: Any, path: Path) -> None:
    source = spark.createDataFrame(rows(np.arange(0, ROWS, 100))).alias("s")
    table = lakebed.DeltaTable.forPath(spark, str(path)).alias("t")
    builder = table.merge(source, "t.id = s.id").whenMatchedUpdateAll()
    builder.whenNotMatchedInsertAll().execute()


def delete(spark: Any, path: Path) -> None:
    lakebed.DeltaTable.forPath(spark, str(path)).delete("id % 100 = 7")


def update(spark: Any, path: Path) -> None:
    table = lakebed.DeltaTable.forPath(spark, str(path))
    table.update("id % 100 = 7", {"price": "price + 1"})


def vacuum(spark: Any, path: Path) -> None:
    lakebed.DeltaTable.forPath(spark, str(path)).vacuum().collect()


def zorder(spark: Any, path: Path) -> None:
    lakebed.DeltaTable.forPath(spark, str(path)).optimize().executeZOrderBy("id", "price")


def plan(spark: Any, path: Path) -> None:
    """Opens the table and plans a query on it."""
    frame = spark.read.format("delta").load(str(path)).where("id BETWEEN 5 AND 9")
    frame._jdf.queryExecution().toRdd().getNumPartitions()


def join(spark: Any, path: Path) -> None:
    """Six scans in a query, as TPC-H has them."""
    spark.read.format("delta").load(str(path)).createOrReplaceTempView("made")
    parts = " UNION ALL ".join(
        f"SELECT count(a.name) FROM made a JOIN made b ON a.id = b.id WHERE a.price > {n}"
        for n in range(3)
    )
    spark.sql(parts).collect()


WORKS: dict[str, Work] = {
    work.__name__: work for work in (append, plan, join, merge, delete, update, vacuum, zorder)
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("works", nargs="*", help=", ".join(WORKS))
    parser.add_argument("--as-before", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary, contextlib.ExitStack() as stack:
        folder = Path(temporary)
        made = lakebed.write(
            folder / "made",
            rows(np.arange(ROWS)),
            properties={"delta.enableDeletionVectors": "true"},
        )
        made.write(rows(np.arange(10)))
        spark = _session()
        if options.as_before:
            stack.enter_context(_as_before())
        for name in options.works or WORKS:
            times = []
            for _ in range(ROUNDS):
                path = folder / str(uuid.uuid4())
                shutil.copytree(folder / "made", path)
                with gateway_commands(spark._jvm._gateway_client) as sent, _asked() as asked:
                    start = time.perf_counter()
                    WORKS[name](spark, path)
                    times.append(time.perf_counter() - start)
            least = 1000 * min(times)
            counts = f"{len(sent):5} calls {len(asked):3} back"
            print(f"{name:10} {counts} {least:8.1f} ms at least", flush=True)
        spark.stop()


@contextlib.contextmanager
def _asked() -> Iterator[list[str]]:
    """What the JVM asks of file indexes meanwhile."""
    from lakebed.spark.native.file_index import DeltaFileIndex

    asked: list[str] = []
    answer = DeltaFileIndex.apply

    def counted(self: Any, request: str, sources: Any) -> Any:
        asked.append(request)
        return answer(self, request, sources)

    DeltaFileIndex.apply = counted  # type: ignore[method-assign]
    try:
        yield asked
    finally:
        DeltaFileIndex.apply = answer  # type: ignore[method-assign]


@contextlib.contextmanager
def _as_before() -> Iterator[None]:
    from lakebed.spark.internals import call_sites
    from lakebed.spark.internals.jvm import Jvm

    call_sites._is_quiet = lambda: False
    Jvm.settings = lambda self: dict(self.session.conf.getAll)  # type: ignore[method-assign]
    yield


def _session() -> Any:
    spark = lakebed.session(
        "calls",
        master="local[2]",
        spark_ui_enabled=False,
        spark_driver_host="127.0.0.1",
        **{"spark.ui.showConsoleProgress": "false", "spark.sql.shuffle.partitions": 8},
    )
    spark.sparkContext.setLogLevel("ERROR")
    return spark


if __name__ == "__main__":
    main()
