"""Batches of streams beside other writers: only real conflicts are errors.

The other commit comes between the read version of the first writer and its commit.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import lakebed
from lakebed.commands.target.write_options import WriteOptions
from lakebed.commands.write.write_rows import write_table
from lakebed.errors import (
    ConcurrentAppendError,
    ConcurrentTransactionError,
    ConflictError,
    MetadataChangedError,
)
from lakebed.expressions import parse_predicate
from lakebed.formats.file_actions import adds_from_table
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.spec.actions import Add
from lakebed.storage import open_store
from lakebed.streaming.sink import Batch
from lakebed.tables.table import rows_of
from lakebed.transaction import Operation, Transaction
from testkit.readers.log_json import operations
from testkit.readers.other_readers import read_elsewhere
from testkit.tables.small_tables import removal

Write = Callable[[TableLog], object]
_FIELDS = (
    *("path", "partitionValues", "size", "modificationTime", "dataChange", "stats"),
    *("deletionVector", "baseRowId", "defaultRowCommitVersion"),
)


def data(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64())})


def table(path: Path, properties: dict[str, str] | None = None) -> TableLog:
    """Ids 1 and 2 in one file, 3 and 4 in another one."""
    lakebed.write(path, data(1, 2), properties=properties or {})
    lakebed.write(path, data(3, 4), mode="append")
    return TableLog(open_store(path))


def ids(path: Path) -> list[int]:
    found: list[int] = sorted(read_elsewhere(path)["id"].to_pylist())
    return found


def batch(
    number: int, *new: int, query: str = "q", mode: str = "Append", reads_table: bool = False
) -> Write:
    """What the sink of a stream does, with the rows of the other data plane."""

    def run(log: TableLog) -> object:
        asked = WriteOptions(mode="overwrite" if mode == "Complete" else "append")
        options = Batch(query, number, mode).options(asked, reads_table=reads_table)
        return write_table(log, rows_of(data(*new), log, options), options, log.snapshot())

    return run


def rewrite(
    operation: str, where: str, *kept: int, whole: bool = False, change: bool = True
) -> Write:
    """DELETE, UPDATE, MERGE or OPTIMIZE of the file that has id 1."""

    def run(log: TableLog) -> object:
        snapshot = log.snapshot()
        first = _file_of(snapshot, 1)
        transaction = Transaction(snapshot, operation=Operation(operation, {}))
        if whole:
            transaction.read_whole_table()
        elif change:
            transaction.read_files(parse_predicate(where, snapshot.schema), [first])
        else:
            transaction.read_paths([first])
        transaction.stage(removal(first, data_change=change))
        if kept:
            transaction.stage(_written(log, change, *kept))
        return transaction.commit().unwrap()

    return run


def _file_of(snapshot: Snapshot, value: int) -> Add:
    for add in adds_from_table(snapshot.files(_FIELDS)):
        if f'"id":{value}' in (add.stats or "").replace(" ", ""):
            return add
    raise AssertionError(value)


def _written(log: TableLog, change: bool, *new: int) -> Add:
    from dataclasses import replace

    from lakebed.data_files.file_layout import FileLayout

    snapshot = log.snapshot()
    layout = FileLayout.of(snapshot.metadata, snapshot.protocol)
    options = WriteOptions()
    (add,) = rows_of(data(*new), log, options).write(layout).adds
    return replace(add, data_change=change)


def meanwhile(monkeypatch: pytest.MonkeyPatch, log: TableLog, other: Write) -> None:
    """Between what the next transaction reads and its commit."""
    original = Transaction.commit

    def commit(self: Transaction) -> object:
        monkeypatch.setattr(Transaction, "commit", original)
        other(log)
        return original(self)

    monkeypatch.setattr(Transaction, "commit", commit)


OTHERS = {
    "DELETE": (rewrite("DELETE", "id = 1", 2), [2, 3, 4]),
    "UPDATE": (rewrite("UPDATE", "id = 1", 2, 11), [2, 3, 4, 11]),
    "MERGE": (rewrite("MERGE", "", 1, 2, 12, whole=True), [1, 2, 3, 4, 12]),
    "OPTIMIZE": (rewrite("OPTIMIZE", "", 1, 2, change=False), [1, 2, 3, 4]),
    "another stream": (batch(0, 7, query="other"), [1, 2, 3, 4, 7]),
}


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("stream_first", [True, False])
@pytest.mark.parametrize("level", ["WriteSerializable", "Serializable"])
def test_a_batch_and_another_writer_both_commit(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    other: str,
    stream_first: bool,
    level: str,
) -> None:
    path = tmp_path / "t"
    log = table(path, {"delta.isolationLevel": level})
    change, expected = OTHERS[other]
    stream = batch(0, 9)
    first, second = (stream, change) if stream_first else (change, stream)
    meanwhile(monkeypatch, log, first)
    if stream_first and level == "Serializable" and other == "MERGE":
        # It has read the whole table, and the isolation level takes new rows seriously.
        with pytest.raises(ConcurrentAppendError):
            second(log)
        assert ids(path) == [1, 2, 3, 4, 9]
        return
    second(log)
    assert ids(path) == sorted([*expected, 9])


@pytest.mark.parametrize("reads_table", [True, False])
def test_a_batch_that_reads_its_table_depends_on_what_it_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reads_table: bool
) -> None:
    path = tmp_path / "t"
    log = table(path)
    meanwhile(monkeypatch, log, OTHERS["UPDATE"][0])
    stream = batch(0, 9, reads_table=reads_table)
    if not reads_table:
        stream(log)
        assert ids(path) == [2, 3, 4, 9, 11]
        return
    with pytest.raises(ConflictError):
        stream(log)
    assert ids(path) == [2, 3, 4, 11]


def test_one_query_that_runs_twice_writes_each_batch_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t"
    log = table(path)
    meanwhile(monkeypatch, log, batch(5, 9))
    with pytest.raises(ConcurrentTransactionError):
        batch(5, 9)(log)
    batch(5, 9)(log)
    batch(4, 8)(log)
    assert ids(path) == [1, 2, 3, 4, 9]
    assert operations(path).count("STREAMING UPDATE") == 1


def test_complete_output_replaces_what_it_saw_and_no_change_that_came_between(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t"
    log = table(path)
    meanwhile(monkeypatch, log, OTHERS["UPDATE"][0])
    with pytest.raises(ConflictError):
        batch(0, 9, mode="Complete")(log)
    assert ids(path) == [2, 3, 4, 11]
    batch(0, 9, mode="Complete")(log)
    assert ids(path) == [9]


def test_a_change_of_the_schema_is_left_to_whoever_makes_the_rows_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t"
    log = table(path)
    meanwhile(monkeypatch, log, lambda _: lakebed.open(path).add_columns({"w": "int"}))
    with pytest.raises(MetadataChangedError):
        batch(0, 9)(log)
    batch(0, 9)(log)
    assert ids(path) == [1, 2, 3, 4, 9]
