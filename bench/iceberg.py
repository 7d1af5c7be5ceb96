"""What it costs to publish a table as Iceberg: CPU for a manifest, and for a commit.

`./run bench iceberg` writes and reads a manifest beside fastavro, and publishes commits.
"""

from __future__ import annotations

import argparse
import io
import json
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa

import lakebed
from lakebed.formats import avro
from lakebed.formats.file_actions import adds_from_table
from lakebed.iceberg import publish
from lakebed.spec.actions import Action, Add, Remove
from lakebed.transaction import Operation, Transaction

_REPEATS = 3
_COLUMNS = 20
_ON = {
    "delta.enableIcebergCompatV2": "true",
    "delta.universalFormat.enabledFormats": "iceberg",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, nargs="*", default=[1_000, 10_000])
    for files in parser.parse_args().files:
        with tempfile.TemporaryDirectory() as folder:
            measure(Path(folder) / "t", files)


def measure(path: Path, files: int) -> None:
    columns = {f"c{number}": pa.array([number, number + 1]) for number in range(_COLUMNS)}
    lakebed.write(path, pa.table(columns), properties=_ON)
    add = adds_from_table(lakebed.open(path).snapshot.files())[0]
    commit(path, *[replace(add, path=f"f{number}.parquet") for number in range(files - 1)])
    snapshot = lakebed.open(path).snapshot
    show(f"{files} files anew", files, lambda: publish(snapshot))
    manifest = max((path / "metadata").glob("*-m0.avro"), key=lambda file: file.stat().st_size)
    manifests(manifest.read_bytes())
    numbers = iter(range(files))
    show("an append", 1, lambda: commit(path, replace(add, path=f"g{next(numbers)}.parquet")))
    show("a removal", 1, lambda: commit(path, removal(add, f"f{next(numbers)}.parquet")))


def manifests(data: bytes) -> None:
    header, records = avro.decode(data, "manifest")
    own = json.loads(header["avro.schema"])
    schema = fastavro.parse_schema(json.loads(header["avro.schema"]))
    count = len(records)
    show("write, own", count, lambda: avro.encode(own, records, {}))
    show("read, own", count, lambda: avro.decode(data, "manifest"))
    show("write, fastavro", count, lambda: _written(schema, records))
    show("read, fastavro", count, lambda: list(fastavro.reader(io.BytesIO(data))))


def _written(schema: Any, records: list[Any]) -> None:
    fastavro.writer(io.BytesIO(), schema, records, codec="deflate")


def commit(path: Path, *actions: Action) -> None:
    transaction = Transaction(lakebed.open(path).snapshot, operation=Operation("WRITE"))
    transaction.stage(*actions)
    transaction.commit().unwrap()


def removal(add: Add, path: str) -> Remove:
    return Remove(path, data_change=True, deletion_timestamp=1, size=add.size)


def show(what: str, count: int, work: Callable[[], Any]) -> None:
    times = []
    for _ in range(_REPEATS):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    print(f"{what:<20} {min(times) * 1000:>9.1f} ms {min(times) / count * 1e6:>9.1f} µs for each")


if __name__ == "__main__":
    main()
