"""One side of `bench/wide.py`: see there.

python bench/_wide_side.py SIDE COLUMNS FOLDER OPTIONS
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import lakebed

ROWS, FEW = 8, 5
MEGABYTE = 1 << 20


def rows_of(columns: int, rows: int) -> pa.Table:
    kinds = (
        pa.array(range(rows), pa.int64()),
        pa.array([n / 7 for n in range(rows)]),
        pa.array([f"text {n}" for n in range(rows)]),
    )
    return pa.table({f"column_{place:06}": kinds[place % 3] for place in range(columns)})


class Side(ABC):
    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options

    def prepare(self, columns: int) -> None:
        """The rows, in the form that the side takes; the clock does not run."""
        self.many: Any = rows_of(columns, ROWS)
        self.one: Any = rows_of(columns, 1)
        self.name = f"column_{columns // 2:06}"

    @abstractmethod
    def create(self, path: Path) -> int: ...

    @abstractmethod
    def append(self, path: Path) -> int: ...

    @abstractmethod
    def column(self, path: Path) -> int: ...

    @abstractmethod
    def rows(self, path: Path) -> int: ...

    def peak(self) -> int:
        return _peak(os.getpid())


EXPECTED = {"create": 0, "append": 0, "column": ROWS + 1, "rows": FEW}


class Standalone(Side):
    def create(self, path: Path) -> int:
        lakebed.write(path, self.many)
        return 0

    def append(self, path: Path) -> int:
        lakebed.write(path, self.one, mode="append")
        return 0

    def column(self, path: Path) -> int:
        return lakebed.open(path).to_arrow(columns=[self.name]).num_rows

    def rows(self, path: Path) -> int:
        return lakebed.open(path).to_arrow().slice(0, FEW).num_rows


class PyArrow(Side):
    def create(self, path: Path) -> int:
        path.mkdir()
        pq.write_table(self.many, path / "0.parquet")
        return 0

    def append(self, path: Path) -> int:
        pq.write_table(self.one, path / "1.parquet")
        return 0

    def column(self, path: Path) -> int:
        files = [pq.ParquetFile(file) for file in sorted(path.iterdir())]
        return sum(file.read(columns=[self.name]).num_rows for file in files)

    def rows(self, path: Path) -> int:
        files = [pq.ParquetFile(file).read() for file in sorted(path.iterdir())]
        return pa.concat_tables(files).slice(0, FEW).num_rows


class OnSpark(Side):
    format = "delta"

    def __init__(self, options: dict[str, Any]) -> None:
        super().__init__(options)
        self.spark: Any = lakebed.session(
            "bench-wide",
            master="local[2]",
            spark_ui_enabled=False,
            spark_driver_host="127.0.0.1",
            spark_driver_memory=options["memory"],
            spark_sql_shuffle_partitions=2,
        )
        self.spark.sparkContext.setLogLevel("OFF")

    def prepare(self, columns: int) -> None:
        super().prepare(columns)
        self.many, self.one = (
            self.spark.createDataFrame(rows).coalesce(1) for rows in (self.many, self.one)
        )
        for frame in (self.many, self.one):
            frame._jdf.queryExecution().analyzed()

    def create(self, path: Path) -> int:
        self.many.write.format(self.format).save(str(path))
        return 0

    def append(self, path: Path) -> int:
        self.one.write.format(self.format).mode("append").save(str(path))
        return 0

    def column(self, path: Path) -> int:
        return len(self._read(path).select(self.name).collect())

    def rows(self, path: Path) -> int:
        return len(self._read(path).limit(FEW).collect())

    def _read(self, path: Path) -> Any:
        return self.spark.read.format(self.format).load(str(path))

    def peak(self) -> int:
        return super().peak() + _peak(self.spark.sparkContext._gateway.proc.pid)


class OnSparkParquet(OnSpark):
    format = "parquet"


def _peak(pid: int) -> int:
    """The most memory of a process so far, in bytes, where the system tells."""
    status = Path(f"/proc/{pid}/status")
    for line in status.read_text().splitlines() if status.exists() else []:
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


SIDES: dict[str, type[Side]] = {
    "standalone": Standalone,
    "pyarrow": PyArrow,
    "lakebed": OnSpark,
    "parquet": OnSparkParquet,
}


def main(name: str, columns: int, folder: Path, options: dict[str, Any]) -> None:
    side = SIDES[name](options)
    for count in (10, columns):
        path = folder / "table"
        side.prepare(count)
        for work, expected in EXPECTED.items():
            watched = sampled() if options["profile"] and count == columns else nullcontext()
            start = time.perf_counter()
            try:
                with watched:
                    found = getattr(side, work)(path)
            except Exception as error:  # noqa: BLE001 - how it ends is what is asked
                print(json.dumps({"end": f"{work}: {_short(error)}"}), flush=True)
                return
            seconds = time.perf_counter() - start
            assert found == expected, (work, found)
            if count == columns:
                memory = side.peak() // MEGABYTE
                print(json.dumps({work: seconds, "memory": memory}), flush=True)
        shutil.rmtree(path)


@contextmanager
def sampled() -> Iterator[None]:
    """Prints where Lakebed's Python was, in all threads: Spark calls it in threads of its own."""
    counts: Counter[str] = Counter()
    done = threading.Event()

    def watch() -> None:
        me = threading.get_ident()
        while not done.wait(0.005):
            for thread, frame in sys._current_frames().items():
                if thread != me:
                    counts.update(_lakebed_frames(frame))

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        yield
    finally:
        done.set()
        watching.join()
        for where, count in counts.most_common(20):
            print(f"    {5 * count:>7} {where}", flush=True)


def _lakebed_frames(frame: Any) -> set[str]:
    found = set()
    while frame is not None:
        code = frame.f_code
        if "/lakebed/" in code.co_filename:
            found.add(f"{code.co_filename.rpartition('/lakebed/')[2]} {code.co_qualname}")
        frame = frame.f_back
    return found


def _short(error: Exception) -> str:
    text = str(error)
    if "OutOfMemoryError" in text or "heap space" in text:
        return "out of memory"
    first = next(iter(text.splitlines()), "")
    return f"{type(error).__name__}: {first[:100]}"


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), json.loads(sys.argv[4]))
