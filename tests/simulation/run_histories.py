"""Histories by hand: one seed, or as many as fit in a time. See `history.py`."""

from __future__ import annotations

import argparse
import logging
import os
import secrets
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
from history import History, HistoryError

Make = Callable[[int], History]


def main() -> int:
    parser = argparse.ArgumentParser(description="Histories from seeds.")
    parser.add_argument("seed", type=int, nargs="?")
    parser.add_argument("--from", dest="first", type=int)
    parser.add_argument("--count", type=int)
    parser.add_argument("--for", dest="seconds", type=float)
    parser.add_argument("--only", default="", help="commands, such as 'delete,update'")
    parser.add_argument("--spark", action="store_true", help="clients on Spark")
    given = parser.parse_args()
    only = tuple(filter(None, given.only.split(",")))
    pa.set_cpu_count(1)  # threads only cost here: files have a row or two
    with _on_spark(only) if given.spark else _on_core(only) as make:
        if given.seed is not None:
            print(make(given.seed).run())
            return 0
        first = secrets.randbits(32) if given.first is None else given.first
        return _many(make, first, _numbers(given.count, given.seconds))


def _many(make: Make, first: int, numbers: Iterator[int]) -> int:
    print(f"from seed {first}")
    logging.getLogger("lakebed").setLevel(logging.CRITICAL)
    started, busy, failed, count = time.monotonic(), time.process_time(), 0, 0
    outcomes: Counter[str] = Counter()
    fates: Counter[str] = Counter()
    for number in numbers:
        history = make(first + number)
        try:
            history.run()
        except HistoryError as error:
            failed += 1
            print(f"seed {first + number}: {str(error).splitlines()[0]}", flush=True)
        count += 1
        outcomes += history.outcomes
        fates.update(history.course.fates)
    seconds, busy = time.monotonic() - started, time.process_time() - busy
    for key, times in sorted(outcomes.items()):
        print(f"{times:8} {key}")
    print(dict(fates))
    print(f"{count} histories with {fates.total()} faults in {seconds:.1f} s, {failed} failed")
    print(f"{busy:.1f} s of one core in this process")
    return 1 if failed else 0


@contextmanager
def _on_core(only: tuple[str, ...]) -> Iterator[Make]:
    yield lambda seed: History(seed, only=only)


@contextmanager
def _on_spark(only: tuple[str, ...]) -> Iterator[Make]:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    from spark_history import SparkHistory

    import lakebed

    session = lakebed.session(
        "histories",
        master="local[2]",
        spark_ui_enabled=False,
        spark_sql_shuffle_partitions=2,
        spark_default_parallelism=2,
        spark_driver_host="127.0.0.1",
        spark_driver_memory="1g",
        **{"spark.sql.session.timeZone": "UTC", "spark.ui.showConsoleProgress": "false"},
    )
    session.sparkContext.setLogLevel("OFF")
    root = Path(tempfile.mkdtemp(prefix="lakebed-histories-"))

    def make(seed: int) -> History:
        for before in root.iterdir():
            shutil.rmtree(before)
        # A name of its own for each: Spark remembers what it read under a path.
        return SparkHistory(seed, only=only, spark=session, folder=root / secrets.token_hex(4))

    try:
        yield make
    finally:
        session.stop()
        shutil.rmtree(root)


def _numbers(count: int | None, seconds: float | None) -> Iterator[int]:
    started, number = time.monotonic(), 0
    while (count is None or number < count) and (
        seconds is None or time.monotonic() - started < seconds
    ):
        yield number
        number += 1
