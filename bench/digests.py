"""What the digests in log files cost: bytes, and time to write and to check.

    ./run bench digests

The figures in docs/decisions/0006-digests-in-log-files.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import orjson
import pyarrow as pa

from lakebed.formats import checkpoint_encoder, digest, parquet_digest
from lakebed.formats import commit_file as commit
from lakebed.formats.checkpoint_decoder import SMALL, ParquetCheckpoint
from lakebed.formats.checkpoint_encoder import V1_KINDS
from lakebed.formats.file_actions import REMOVE_SCHEMA, adds_to_table
from lakebed.spec.actions import Add, CommitInfo, wrap

COMMIT = "00000000000000000007.json"
CHECKPOINT = "00000000000000000007.checkpoint.parquet"
STATS = '{"numRecords":1000,"minValues":{"id":%d},"maxValues":{"id":%d},"nullCount":{"id":0}}'
ROUNDS = 31


def main() -> None:
    for count in (1, 1_000):
        commits(count)
    for count in (1_000, 300_000):
        checkpoints(count)


def commits(count: int) -> None:
    actions = [CommitInfo({"operation": "WRITE", "txnId": "x" * 36}), *files(count)]
    data = commit.encode(actions, COMMIT)
    plain = b"".join(orjson.dumps(wrap(action)) + b"\n" for action in actions)
    print(f"commit of {count:,} files, {len(data):,} bytes ({len(data) - len(plain)} more)")
    print(f"  write it         {timed(lambda: commit.encode(actions, COMMIT)):8.3f} ms")
    print(f"    of that, digest{timed(lambda: digest.with_digest(data, COMMIT)):8.3f} ms")
    print(f"  read it          {timed(lambda: list(commit.decode(data, COMMIT))):8.3f} ms")
    print(f"    of that, check {timed(lambda: digest.verify(data, COMMIT)):8.3f} ms")


def checkpoints(count: int) -> None:
    adds, removes = adds_to_table(files(count)), REMOVE_SCHEMA.empty_table()
    data = checkpoint_encoder.encode(CHECKPOINT, V1_KINDS, (), adds, removes)
    print(f"checkpoint of {count:,} files, {len(data):,} bytes")
    few = ["path", "size"]
    read = timed(lambda: ParquetCheckpoint(data, CHECKPOINT).files("add", few), 9)
    print(f"  read path and size {read:8.3f} ms")
    print(f"    of that, check   {timed(lambda: parquet_digest.verify(data, CHECKPOINT)):8.3f} ms")
    if len(data) > SMALL:
        source = pa.BufferReader(data)
        lazily = timed(lambda: ParquetCheckpoint(source, CHECKPOINT).files("add", few), 9)
        print(f"  over {SMALL >> 20} MiB: by footer and pages {lazily:8.3f} ms")


def files(count: int) -> list[Add]:
    return [
        Add(f"part-{n:05d}-{n * 7919:036d}.snappy.parquet", {}, 12345 + n, n, True, STATS % (n, n))
        for n in range(count)
    ]


def timed(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """The fastest of some rounds in milliseconds, since others use the machine too."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times) * 1000


if __name__ == "__main__":
    main()
