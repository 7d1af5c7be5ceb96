"""What it costs to keep commits through a loss of power, on the disk of this machine.

    python bench/durability.py                 standalone appends of one row, and of 16 files
    python bench/durability.py --spark         also appends by Spark
    python bench/durability.py --folder /mnt   on another disk

`none`, `log` and `all` take turns; the ratio is to `none` in the same round.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

import lakebed

LEVELS = ("none", "log", "all")
Work = Callable[[Path, str], None]


def append_a_row(path: Path, durability: str) -> None:
    rows = pa.table({"id": [1]})
    lakebed.write(path, rows, mode="append", storage_options={"durability": durability})


def append_16_files(path: Path, durability: str) -> None:
    rows = pa.table({"id": range(160_000)})
    options = {"durability": durability}
    lakebed.write(path, rows, mode="append", max_rows_per_file=10_000, storage_options=options)


def on_spark(spark: Any, count: int, files: int) -> Work:
    def append(path: Path, durability: str) -> None:
        spark.conf.set("spark.lakebed.durability", durability)
        rows = spark.range(0, count, 1, files)
        rows.write.format("delta").mode("append").save(str(path))

    return append


def works(*, spark: bool) -> dict[str, Work]:
    found: dict[str, Work] = {"one row": append_a_row, "16 files": append_16_files}
    if spark:
        session = lakebed.session("bench-durability", master="local[2]", spark_ui_enabled=False)
        found["one row, Spark"] = on_spark(session, 1, 1)
        found["1M rows in 8 files, Spark"] = on_spark(session, 1_000_000, 8)
    return found


def measure(work: Work, folder: Path, rounds: int) -> dict[str, list[float]]:
    paths = {level: folder / level for level in LEVELS}
    for level, path in paths.items():
        for _ in range(3):
            work(path, level)
    times: dict[str, list[float]] = {level: [] for level in LEVELS}
    for _ in range(rounds):
        for level, path in paths.items():
            started = time.perf_counter()
            work(path, level)
            times[level].append(time.perf_counter() - started)
    return times


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--spark", action="store_true")
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    print(f"{'append of':28}" + "".join(f"{level + ', ms':>12}" for level in LEVELS), end="")
    print(f"{'log / none':>14}{'all / none':>14}")
    for name, work in works(spark=given.spark).items():
        folder = Path(tempfile.mkdtemp(prefix="lakebed-durability-", dir=given.folder))
        try:
            times = measure(work, folder, given.rounds)
        finally:
            shutil.rmtree(folder)
        print(f"{name:28}", end="")
        for level in LEVELS:
            print(f"{1000 * statistics.median(times[level]):12.1f}", end="")
        for level in LEVELS[1:]:
            pairs = zip(times[level], times["none"], strict=True)
            print(f"{statistics.median(mine / plain for mine, plain in pairs):14.2f}", end="")
        print(flush=True)


if __name__ == "__main__":
    main()
