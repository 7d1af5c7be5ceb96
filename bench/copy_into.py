"""What it costs a table to remember the files that COPY INTO has loaded.

`./run bench copy_into` makes tables that remember so many files and opens them.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
import time
from pathlib import Path

import pyarrow as pa

import lakebed
from lakebed.commands.target.log_only import HANDLED_FEATURES
from lakebed.log.table_log import TableLog
from lakebed.spec.actions import Txn
from lakebed.storage import open_store
from lakebed.transaction import Operation, Transaction

_REPEATS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, nargs="*", default=[1, 1_000, 10_000, 100_000])
    print(f"{'files':>9} {'commit':>12} {'checkpoint':>12} {'CPU to open':>12}")
    for files in parser.parse_args().files:
        with tempfile.TemporaryDirectory() as folder:
            commit, checkpoint, seconds = measured(Path(folder) / "t", files)
        print(f"{files:>9,} {commit:>10,} B {checkpoint:>10,} B {seconds * 1000:>9.1f} ms")


def measured(folder: Path, files: int) -> tuple[int, int, float]:
    lakebed.write(folder, pa.table({"id": [1]}))
    log = TableLog(open_store(folder))
    transaction = Transaction(
        log.snapshot(), operation=Operation("COPY INTO", {}), handles=HANDLED_FEATURES
    )
    names = (hashlib.sha256(str(number).encode()).hexdigest()[:40] for number in range(files))
    now = int(time.time() * 1000)
    transaction.stage(*[Txn(f"copy-into-{name}", 0, now) for name in names])
    transaction.commit().unwrap()
    lakebed.open(folder).checkpoint()
    times = []
    for _ in range(_REPEATS):
        started = time.process_time()
        _ = TableLog(open_store(folder)).snapshot().transactions
        times.append(time.process_time() - started)
    commit, checkpoint = (
        next((folder / "_delta_log").glob(f"*1.{kind}")) for kind in ("json", "checkpoint.parquet")
    )
    return commit.stat().st_size, checkpoint.stat().st_size, min(times)


if __name__ == "__main__":
    main()
