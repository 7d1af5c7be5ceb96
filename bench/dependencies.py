"""What each runtime dependency is worth: the figures in docs/decisions/.

    ./run bench dependencies

Every line compares a dependency with the plainest thing that does the same job.
"""

from __future__ import annotations

import asyncio
import json
import pickle
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import obstore
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import sqlglot
from obstore.exceptions import AlreadyExistsError
from obstore.store import LocalStore
from pyroaring import BitMap64

FILES = 200_000
PREDICATE = "region = 'north' AND amount BETWEEN 10 AND 20 AND (id IN (1, 2, 3) OR note IS NULL)"


def main() -> None:
    for measure in (imports, json_lines, arrow_columns, bitmaps, conditional_puts, small_gets, sql):
        print(f"\n{measure.__name__.replace('_', ' ')}")
        measure()


def imports() -> None:
    plain = _start("pass")
    for name in ("pyarrow", "obstore", "orjson", "pyroaring", "sqlglot"):
        _report(name, f"{(_start(f'import {name}') - plain) * 1000:.0f} ms")


def json_lines() -> None:
    lines = [json.dumps({"add": add}).encode() for add in _adds(20_000)]
    _race(
        f"to parse {len(lines):,} lines",
        json=lambda: [json.loads(line) for line in lines],
        orjson=lambda: [orjson.loads(line) for line in lines],
    )


def arrow_columns() -> None:
    adds, dict_bytes = _traced(lambda: _adds(FILES))
    table = pa.Table.from_pylist(adds)
    _report("dicts", f"{dict_bytes / FILES:,.0f} bytes per file")
    _report("pyarrow", f"{table.nbytes / FILES:,.0f} bytes per file")
    _race(
        f"to filter {FILES:,} files",
        dicts=lambda: [add["size"] == 1_500 for add in adds],
        pyarrow=lambda: pc.equal(table["size"], 1_500),
    )


def bitmaps() -> None:
    rows, others = range(0, 8_000_000, 40), range(0, 8_000_000, 41)
    sets, roaring = (set(rows), set(others)), (BitMap64(rows), BitMap64(others))
    _report("set", f"{len(pickle.dumps(sets[0])):,} bytes for {len(rows):,} of 8,000,000 rows")
    _report("pyroaring", f"{len(roaring[0].serialize()):,} bytes")
    _race("for a union", set=lambda: sets[0] | sets[1], pyroaring=lambda: roaring[0] | roaring[1])


def conditional_puts() -> None:
    names = [f"{number:020}.json" for number in range(500)]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(8) as pool:
        store = LocalStore(folder)
        racers = names * 4
        won = sum(pool.map(lambda name: _create(store, name), racers))
    _report("obstore", f"{len(racers):,} racing creates of {len(names)} names: {won} winners")


def small_gets() -> None:
    names = [f"{number:020}.json" for number in range(1_000)]
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            Path(folder, name).write_bytes(b"x" * 1_000)
        store = LocalStore(folder)
        _race(
            f"for {len(names):,} gets from local disk",
            plain_read=lambda: [Path(folder, name).read_bytes() for name in names],
            obstore=lambda: [bytes(obstore.get(store, name).bytes()) for name in names],
            asyncio=lambda: asyncio.run(_get_all(store, names)),
        )


def sql() -> None:
    label = f"to parse {len(PREDICATE)} characters 100 times"
    _race(label, sqlglot=lambda: [_parse() for _ in range(100)])


def _parse() -> sqlglot.Expression:
    return sqlglot.parse_one(PREDICATE, dialect="databricks")


def _adds(count: int) -> list[dict[str, object]]:
    return [
        {
            "path": f"region=north/part-{number:05}-c000.snappy.parquet",
            "partitionValues": {"region": "north"},
            "size": 1_000 + number % 1_000,
            "modificationTime": 1_700_000_000_000 + number,
            "dataChange": True,
            "stats": f'{{"numRecords":10,"minValues":{{"id":{number}}},"maxValues":{{"id":9}}}}',
        }
        for number in range(count)
    ]


def _create(store: LocalStore, name: str) -> bool:
    try:
        obstore.put(store, name, b"{}", mode="create")
    except AlreadyExistsError:
        return False
    return True


async def _get_all(store: LocalStore, names: list[str]) -> list[bytes]:
    async def get(name: str) -> bytes:
        return bytes(await (await obstore.get_async(store, name)).bytes_async())

    return await asyncio.gather(*(get(name) for name in names))


def _start(code: str) -> float:
    # The fastest start, not the median: a process that starts slowly was only waiting.
    command = [sys.executable, "-c", code]
    return min(_seconds(lambda: subprocess.run(command, check=True)) for _ in range(15))


def _traced(action: Callable[[], list[dict[str, object]]]) -> tuple[list[dict[str, object]], int]:
    tracemalloc.start()
    result = action()
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return result, size


def _race(what: str, **actions: Callable[[], object]) -> None:
    """Interleaved, so that a busy moment slows all of them; the median of nine rounds."""
    rounds = [[_seconds(action) for action in actions.values()] for _ in range(10)]
    medians = [statistics.median(times) for times in zip(*rounds[1:], strict=True)]
    for name, seconds in zip(actions, medians, strict=True):
        _report(name.replace("_", " "), f"{seconds * 1000:.2f} ms {what}")


def _seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def _report(name: str, figure: str) -> None:
    print(f"  {name:<12} {figure}")


if __name__ == "__main__":
    main()
