from __future__ import annotations

import json

import pytest

from lakebed.errors import LogCorruptedError
from lakebed.log.listing.log_names import commit_path, compaction_path
from lakebed.log.maintenance.checkpoint_writer import write_checkpoint
from lakebed.log.table_log import TableLog
from lakebed.spec.actions import (
    Add,
    AddCdc,
    CommitInfo,
    DeletionVector,
    DomainMetadata,
    Remove,
    Txn,
)
from lakebed.storage import Store
from testkit.faults import FaultStore
from testkit.tables.compactions import compact, reconcile
from testkit.tables.log_tables import NOW, V2, create, file, grow, metadata, names, write_commit


def test_the_example_of_the_protocol() -> None:
    f2, f3, f4 = file("f2"), file("f3"), file("f4")
    gone1, gone3 = Remove("f1", True), Remove("f3", True)
    commits = [
        [CommitInfo({}), f2, gone1],
        [CommitInfo({}), f3, f4, Txn("app", 4389)],
        [CommitInfo({}), gone3, Txn("app", 4390)],
    ]
    assert reconcile(commits) == [Txn("app", 4390), f2, f4, gone1, gone3]


def test_tombstones_of_domains_stay_since_they_hide_what_is_older() -> None:
    removed = DomainMetadata("mine", "old", True)
    assert reconcile([[DomainMetadata("mine", "old")], [removed]]) == [removed]


def test_change_data_and_provenance_are_left_out() -> None:
    assert reconcile([[CommitInfo({}), AddCdc("x", {}, 1)]]) == []


def test_a_file_with_another_deletion_vector_is_another_file() -> None:
    vector = DeletionVector("u", "ab^-aqEH.-t@S}K{vb[*k^", 40, 6)
    marked = file("f", deletion_vector=vector)
    removed = Remove("f", True)
    assert reconcile([[file("f")], [removed, marked]]) == [marked, removed]


def test_two_spellings_of_a_path_are_one_file() -> None:
    assert reconcile([[file("/x/f")], [Remove("file:///x/f", True)]]) == [
        Remove("file:///x/f", True)
    ]


def test_fields_that_nobody_knows_are_kept(memory: Store) -> None:
    create(memory)
    write_commit(memory, 1, Add("f", {}, 1, 1, True, extra={"future": [1]}))
    compact(memory, 0, 1)
    lines = memory.get(compaction_path(0, 1)).splitlines()
    (add,) = [json.loads(line)["add"] for line in lines if b'"add"' in line]
    assert add["future"] == [1]


def test_the_digest_of_one_file_does_not_travel_to_the_next(memory: Store) -> None:
    write_commit(memory, 0, V2, metadata(), info=False)
    write_commit(memory, 1, file(1), info=False)
    compact(memory, 0, 1)
    lines = memory.get(compaction_path(0, 1)).decode().splitlines()
    assert ["lakebedCrc32" in line for line in lines] == [True, False, False]
    assert TableLog(memory).snapshot().protocol.extra == {}


def test_a_compaction_is_read_instead_of_its_commits(memory: Store) -> None:
    grow(memory, 6)
    compact(memory, 1, 5)
    store = FaultStore(memory)
    assert len(names(TableLog(store).snapshot())) == 7
    (read,) = [call.path for call in store.calls if call.method == "get_many"]
    assert read.split() == [commit_path(0), compaction_path(1, 5), commit_path(6)]


def test_a_compaction_after_a_checkpoint_is_used(listed: FaultStore) -> None:
    write_checkpoint(grow(listed, 3))
    for version in range(4, 8):
        write_commit(listed, version, Remove.of(file(version - 4), timestamp=NOW))
    compact(listed, 4, 7)
    listed.put(commit_path(5), b"not read")
    assert names(TableLog(listed).snapshot()) == []


def test_a_compaction_of_another_writer_is_not_trusted(memory: Store) -> None:
    grow(memory, 3)
    memory.put(compaction_path(1, 3), b'{"add":{"path":"wrong"}}\n')
    assert names(TableLog(memory).snapshot()) == [f"{number}.parquet" for number in range(4)]


def test_a_compaction_that_is_there_stays(memory: Store) -> None:
    grow(memory, 3)
    memory.put(compaction_path(1, 3), b"somebody else's")
    compact(memory, 1, 3)
    assert memory.get(compaction_path(1, 3)) == b"somebody else's"


def test_commits_without_anything_to_keep_give_no_compaction(memory: Store) -> None:
    create(memory)
    write_commit(memory, 1)
    write_commit(memory, 2)
    assert compact(memory, 1, 2) is None
    assert not memory.exists(compaction_path(1, 2))


def test_a_changed_byte_in_a_compaction_is_found(memory: Store) -> None:
    grow(memory, 3)
    compact(memory, 0, 3)
    path = compaction_path(0, 3)
    memory.put(path, memory.get(path).replace(b"2.parquet", b"9.parquet"))
    with pytest.raises(LogCorruptedError) as caught:
        TableLog(memory).snapshot().files()
    assert caught.value.file == path
