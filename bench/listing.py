"""Opening the newest version of a long log on the local disk: names asked for, or all listed.

    ./run bench listing

The figures in docs/decisions/0007-probing-local-logs.md. Both ways must find the same files.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from lakebed.log.listing.listing import latest_segment
from lakebed.log.listing.log_names import commit_path
from lakebed.log.maintenance.checkpoint_writer import write_checkpoint
from lakebed.log.table_log import TableLog
from lakebed.spec.actions import Add, Metadata, Protocol
from lakebed.storage import Store, open_store
from lakebed.transaction import Operation, Transaction

SCHEMA = '{"type":"struct","fields":[{"name":"n","type":"long","nullable":true,"metadata":{}}]}'
COMMITS = (100, 1_000, 10_000)
TAIL = 5
ROUNDS = 51


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for commits in COMMITS:
            measure(Path(folder) / str(commits), commits)


def measure(folder: Path, commits: int) -> None:
    store = build(folder, commits)
    names = sum(1 for _ in (folder / "_delta_log").iterdir())
    probing = timed(lambda: latest_segment(store))
    found = latest_segment(store).commits
    store.cheap_probes = False
    listing = timed(lambda: latest_segment(store))
    listed = latest_segment(store).commits
    assert [file.path for file in listed] == [file.path for file in found]
    store.cheap_probes = True
    appending = timed(lambda: append(store), rounds=9)
    (folder / "_delta_log" / "_last_checkpoint").unlink()
    everything = timed(lambda: latest_segment(store), rounds=5)
    print(f"{names:,} names in the log, {TAIL} commits after the checkpoint")
    print(f"  asking for names            {probing:8.2f} ms")
    print(f"  listing from the checkpoint {listing:8.2f} ms")
    print(f"  listing without the hint    {everything:8.2f} ms")
    print(f"  one append, all in all      {appending:8.2f} ms")


def build(folder: Path, commits: int) -> Store:
    """A log with a commit and a checksum file per version; only its end is real."""
    store = open_store(str(folder))
    first = Transaction(None, store=store, operation=Operation("CREATE TABLE"))
    never = {"delta.checkpointInterval": "1000000"}
    first.stage(Protocol(1, 2), Metadata("id", SCHEMA, (), never), new_file(0))
    first.commit().unwrap()
    info = b'{"commitInfo":{}}\n'
    for version in range(1, commits):
        (folder / commit_path(version)).write_bytes(info)
        (folder / commit_path(version)).with_suffix(".crc").write_bytes(b"{}")
    write_checkpoint(TableLog(store).snapshot())
    for _ in range(TAIL):
        append(store)
    return store


def append(store: Store) -> None:
    snapshot = TableLog(store).snapshot()
    transaction = Transaction(snapshot, operation=Operation("WRITE"))
    transaction.stage(new_file(snapshot.version + 1))
    transaction.commit().unwrap()


def new_file(number: int) -> Add:
    return Add(f"{number}.parquet", {}, 1, 1, True)


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
