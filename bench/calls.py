"""How many calls to the JVM a command on Spark takes, and how long it takes on a tiny table.

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

from gauges import gateway_commands

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


WORKS: dict[str, Work] = {
    work.__name__: work for work in (append, merge, delete, update, vacuum, zorder)
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
                with gateway_commands(spark._jvm._gateway_client) as sent:
                    start = time.perf_counter()
                    WORKS[name](spark, path)
                    times.append(time.perf_counter() - start)
            least = 1000 * min(times)
            print(f"{name:10} {len(sent):5} calls {least:8.1f} ms at least", flush=True)
        spark.stop()


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
