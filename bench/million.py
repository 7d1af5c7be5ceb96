"""Makes a table whose log has very many files: a checkpoint and a short tail, no data files.

    python bench/million.py FOLDER FILES [REAL]

So many as REAL says, the first by modification time, are there: what reads no others can read them.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lakebed.formats import commit_file as commit
from lakebed.formats.file_actions import ADD_SCHEMA, REMOVE_SCHEMA
from lakebed.log.file_state import FileState, MemoryFiles, empty_tail
from lakebed.log.listing.log_names import LogFile, commit_path
from lakebed.log.listing.segment import LogSegment
from lakebed.log.maintenance.checkpoint_writer import write_checkpoint
from lakebed.log.replay import TableHead
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Add, CommitInfo, Metadata, Protocol
from lakebed.storage import open_store

SCHEMA = (
    '{"type":"struct","fields":['
    '{"name":"id","type":"long","nullable":true,"metadata":{}},'
    '{"name":"amount","type":"double","nullable":true,"metadata":{}},'
    '{"name":"customer","type":"string","nullable":true,"metadata":{}},'
    '{"name":"day","type":"date","nullable":true,"metadata":{}}]}'
)
DAYS = 1000
TAIL = 5


def build(folder: Path, count: int, real: int = 0) -> None:
    """A table of `count` files in 1,000 daily partitions, at version 5 with a checkpoint at 0."""
    store = open_store(str(folder))
    protocol = Protocol(1, 2)
    metadata = Metadata("7d3c4f4e-0000-4000-8000-000000000001", SCHEMA, ("day",))
    info = CommitInfo({"timestamp": int(time.time() * 1000), "operation": "WRITE"})
    store.put_if_absent(commit_path(0), commit.encode([info, protocol, metadata], commit_path(0)))
    adds = _with_real_files(folder, _adds(count), real)
    files = FileState(MemoryFiles(adds, REMOVE_SCHEMA.empty_table()), empty_tail())
    segment = LogSegment(0, None, (LogFile(commit_path(0), "commit", 0),))
    head = TableHead(protocol, metadata)
    write_checkpoint(Snapshot(store, segment, head=head, files=files))
    for version in range(1, TAIL + 1):
        path = commit_path(version)
        store.put_if_absent(path, commit.encode([info, _tail_add(version, count)], path))


def _adds(count: int) -> pa.Table:
    numbers = pa.array(range(count), pa.int64())
    text = numbers.cast(pa.string())
    days = pc.add(
        pa.scalar(18262, pa.int32()), pa.array((n % DAYS for n in range(count)), pa.int32())
    )
    day = days.cast(pa.date32()).cast(pa.string())
    low = pc.multiply(numbers, 1000)
    stats = pc.binary_join_element_wise(
        '{"numRecords":1000,"minValues":{"id":',
        low.cast(pa.string()),
        ',"amount":0.5,"customer":"customer-',
        text,
        '"},"maxValues":{"id":',
        pc.add(low, 999).cast(pa.string()),
        ',"amount":999.5,"customer":"customer-',
        text,
        'z"},"nullCount":{"id":0,"amount":0,"customer":0}}',
        "",
    )
    path = pc.binary_join_element_wise(
        "day=",
        day,
        "/part-00000-7d3c4f4e-1111-4222-8333-",
        pc.utf8_lpad(text, 12, "0"),
        "-c000.snappy.parquet",
        "",
    )
    offsets = pa.array(range(count + 1), pa.int32())
    keys = pa.DictionaryArray.from_arrays(pa.nulls(count, pa.int8()).fill_null(0), ["day"])
    values = pa.MapArray.from_arrays(offsets, keys.cast(pa.string()), day)
    columns = {
        "path": path,
        "partitionValues": values,
        "size": pc.add(pc.bit_wise_and(numbers, 0xFFFFF), 1_000_000),
        "modificationTime": pc.add(numbers, 1_700_000_000_000),
        "dataChange": pa.nulls(count, pa.bool_()).fill_null(False),
        "stats": stats,
    }
    arrays = [columns.get(field.name, pa.nulls(count, field.type)) for field in ADD_SCHEMA]
    return pa.table(arrays, schema=ADD_SCHEMA)


def _with_real_files(folder: Path, adds: pa.Table, real: int) -> pa.Table:
    """Of ten rows each, and with their size in the log."""
    sizes = adds["size"].to_pylist()
    for number, path in enumerate(adds["path"].slice(0, real).to_pylist()):
        ids = pa.array(range(number * 1000, number * 1000 + 10), pa.int64())
        rows = {"id": ids, "amount": ids.cast(pa.float64()), "customer": ids.cast(pa.string())}
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(rows), file)
        sizes[number] = file.stat().st_size
    place = adds.schema.get_field_index("size")
    return adds.set_column(place, adds.schema.field(place), pa.array(sizes, pa.int64()))


def _tail_add(version: int, count: int) -> Add:
    return Add(
        path=f"day=2020-01-01/part-tail-{version}.parquet",
        partition_values={"day": "2020-01-01"},
        size=1000,
        modification_time=1_700_000_000_000 + count + version,
        data_change=True,
        stats='{"numRecords":1,"minValues":{"id":1},"maxValues":{"id":1},"nullCount":{"id":0}}',
    )


if __name__ == "__main__":
    build(Path(sys.argv[1]), *map(int, sys.argv[2:]))
