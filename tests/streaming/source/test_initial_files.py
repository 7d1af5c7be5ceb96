"""The version that a stream begins with, a page at a time."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pyarrow as pa
import pytest
from source_streams import batches, open_stream, places, removed

from lakebed.log.maintenance.checkpoint_writer import write_checkpoint
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.streaming.source import initial_files
from lakebed.streaming.source.initial_files import InitialFiles
from lakebed.streaming.source.offset import BEGIN, END
from testkit.tables.log_tables import NOW, create, file, memory_store, write_commit


def scattered(count: int) -> Snapshot:
    """Most files in a checkpoint, some later; in no order, with times that many share."""
    chance = random.Random(7)
    files = [file(each, modification_time=NOW + chance.randrange(9)) for each in range(count)]
    chance.shuffle(files)
    store = memory_store()
    create(store, *files[: -count // 4])
    write_commit(store, 1, removed(files[0].path))
    write_checkpoint(TableLog(store).snapshot())
    write_commit(store, 2, *files[-count // 4 :])
    write_commit(store, 3, removed(files[1].path))
    return TableLog(store).snapshot()


def test_pages_have_the_files_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(initial_files, "_BLOCK", 7)
    snapshot = scattered(100)
    rows = snapshot.files(["path", "modificationTime"]).to_pylist()
    expected = [
        row["path"] for row in sorted(rows, key=lambda r: (r["modificationTime"], r["path"]))
    ]
    initial = InitialFiles(snapshot)
    assert len(initial) == len(expected)
    for after, last in ((BEGIN, 200), (BEGIN, 0), (3, 3), (3, 4), (5, 60), (97, 200)):
        some = list(initial.files(after, last))
        start = max(after + 1, 0)
        assert [each.index for each in some] == list(range(start, min(last + 1, len(expected))))
        assert [each.action.path for each in some if each.action] == expected[start : last + 1]


def test_sizes_end_with_the_end_of_the_version() -> None:
    initial = InitialFiles(scattered(20))
    assert [each.index for each in initial.sizes(15)] == [16, 17, END]
    assert [each.index for each in initial.sizes(17)] == [END]
    assert initial.size_after(BEGIN) == 1800
    assert initial.size_after(16) == 100
    assert initial.size_after(17) == 0


def test_pages_read_the_log_once_for_many_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a batch takes does not grow with the table."""
    loads: list[int] = []
    load = Snapshot.load_files

    def counted(self: Snapshot, columns: Sequence[str], places: pa.Array | None = None) -> pa.Table:
        loads.append(0 if places is None else len(places))
        return load(self, columns, places)

    monkeypatch.setattr(Snapshot, "load_files", counted)
    monkeypatch.setattr(initial_files, "_BLOCK", 50)
    store = memory_store()
    create(store, *(file(f"{number:05}") for number in range(200)))
    found = list(batches(open_stream(store, maxFilesPerTrigger=10)))
    assert [some[0] for _, some in found] == [f"{each:05}" for each in range(0, 200, 10)]
    assert places(found)[-2:] == [(0, 189, True), (1, -1, False)]
    assert loads == [0, 50, 50, 50, 50]


def test_nothing_of_the_files_is_remembered_by_the_snapshot() -> None:
    snapshot = scattered(20)
    list(InitialFiles(snapshot).files(BEGIN, 20))
    assert not snapshot._state._cache["add"]
