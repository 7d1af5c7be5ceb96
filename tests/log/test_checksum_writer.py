from __future__ import annotations

import json

import pytest
from deltalake import DeltaTable
from hypothesis import given, settings
from strategies import Key, Model, histories, key_of

from lakebed.formats import checksum
from lakebed.formats import commit_file as commit
from lakebed.log.listing.log_names import checksum_path, commit_path
from lakebed.log.maintenance.checkpoint_writer import write_checkpoint
from lakebed.log.maintenance.checksum_writer import checksum_for, write_checksum
from lakebed.log.table_log import TableLog
from lakebed.log.totals import BOUNDARIES
from lakebed.spec.actions import (
    Action,
    Add,
    CommitInfo,
    DeletionVector,
    DomainMetadata,
    Protocol,
    Remove,
    Txn,
)
from lakebed.storage import Store
from testkit.faults import FaultStore
from testkit.tables.log_tables import (
    NOW,
    V2,
    append,
    create,
    file,
    grow,
    memory_store,
    metadata,
    names,
    write_commit,
)


def test_a_checksum_says_what_the_version_holds(memory: Store) -> None:
    vector = DeletionVector("u", "ab^-aqEH.-t@S}K{vb[*k^", 40, 6)
    adds = [file(0, size=10), file(1, size=9000, deletion_vector=vector)]
    extras = [Txn("app", 3), DomainMetadata("mine", "{}"), DomainMetadata("gone", "{}", True)]
    found = checksum_for(create(memory, *adds, *extras, protocol=V2))
    assert (found.num_files, found.table_size_bytes) == (2, 9010)
    assert (found.num_deleted_records, found.num_deletion_vectors) == (6, 1)
    assert found.txn_id == "t0"
    assert found.transactions == (Txn("app", 3),)
    assert found.domains == (DomainMetadata("mine", "{}"),)
    assert found.file_size_histogram is not None
    assert found.file_size_histogram["sortedBinBoundaries"] == list(BOUNDARIES)
    assert found.file_size_histogram["fileCounts"][:3] == [1, 1, 0]
    assert found.file_size_histogram["totalBytes"][:3] == [10, 9000, 0]
    assert found.deleted_record_counts == {"deletedRecordCounts": [1, 1, 0, 0, 0, 0, 0, 0, 0, 0]}


def test_a_checksum_file_is_one_json_object_with_the_fields_of_the_protocol(memory: Store) -> None:
    write_checksum(create(memory, file(0)))
    raw = json.loads(memory.get(checksum_path(0)))
    assert raw["numMetadata"] == raw["numProtocol"] == raw["numFiles"] == 1
    assert raw["protocol"] == {"minReaderVersion": 1, "minWriterVersion": 2}
    assert raw["metadata"]["id"] == "f0e1d2c3"
    assert raw["txnId"] == "t0"
    assert "inCommitTimestampOpt" not in raw


def test_an_in_commit_timestamp_is_there_exactly_when_the_table_has_them(memory: Store) -> None:
    stamped = CommitInfo({"inCommitTimestamp": 77, "txnId": "x"})
    protocol = Protocol(1, 7, None, ("inCommitTimestamp",))
    without = [stamped, protocol, metadata()]
    write_commit(memory, 0, *without, info=False)
    assert checksum_for(TableLog(memory).snapshot()).in_commit_timestamp is None
    write_commit(memory, 1, stamped, metadata(enableInCommitTimestamps="true"), info=False)
    assert checksum_for(TableLog(memory).snapshot()).in_commit_timestamp == 77


def test_a_checksum_file_that_is_there_stays(memory: Store) -> None:
    snapshot = create(memory)
    memory.put(checksum_path(0), b"somebody else's")
    assert write_checksum(snapshot)
    assert memory.get(checksum_path(0)) == b"somebody else's"


def test_many_transactions_or_domains_are_left_out(memory: Store) -> None:
    txns = [Txn(f"app{number}", 1) for number in range(1001)]
    domains = [DomainMetadata(f"d{number}", "") for number in range(1001)]
    found = checksum_for(create(memory, *txns, *domains, protocol=V2))
    assert (found.transactions, found.domains) == (None, None)


def test_transactions_that_expire_are_left_out(memory: Store) -> None:
    snapshot = create(memory, Txn("a", 1), setTransactionRetentionDuration="interval 1 day")
    assert checksum_for(snapshot).transactions is None


def test_the_head_of_a_version_comes_from_its_checksum_alone(memory: Store) -> None:
    extras = [Txn("app", 3), DomainMetadata("mine", "{}")]
    before = create(memory, file(0), *extras, protocol=V2)
    write_checksum(before)
    store = FaultStore(memory)
    found = TableLog(store).snapshot()
    assert (found.protocol, found.metadata) == (before.protocol, before.metadata)
    assert (found.transactions, found.domains) == (before.transactions, before.domains)
    assert found.totals_if_known == before.totals
    assert not [call for call in store.calls if call.path.endswith(".json")]


def test_totals_that_are_not_known_are_not_counted_for_a_large_table(memory: Store) -> None:
    """Behind a checkpoint nobody knows how many files there are, and looking costs."""
    write_checkpoint(grow(memory, 3))
    snapshot = append(memory, 4, file(4))
    assert not write_checksum(snapshot)
    assert not memory.exists(checksum_path(4))
    assert write_checksum(snapshot, count=True)
    assert checksum.decode(memory.get(checksum_path(4)), checksum_path(4)).num_files == 5


def test_totals_go_on_from_the_checksum_of_the_version_before(memory: Store) -> None:
    snapshot = grow(memory, 3)
    write_checkpoint(snapshot)
    write_checksum(snapshot)
    store = FaultStore(memory)
    before = TableLog(store).snapshot()
    added, removed = file(4, size=7), Remove.of(file(0), timestamp=NOW)
    write_commit(memory, 4, added, removed)
    after = before.after(4, [added, removed], fresh=True)
    calls = len(store.calls)
    assert write_checksum(after)
    # The commit was not made through this snapshot, so its provenance is looked up.
    assert [call.method for call in store.calls[calls:]] == ["get", "put_if_absent"]
    found = checksum.decode(memory.get(checksum_path(4)), checksum_path(4))
    assert (found.num_files, found.table_size_bytes) == (4, 307)


@settings(max_examples=25, deadline=None)
@given(histories())
def test_totals_carried_along_equal_totals_counted(history: list[list[Action]]) -> None:
    store, model = memory_store(), Model()
    store.put_if_absent(commit_path(0), commit.encode(history[0], commit_path(0)))
    model.commit(history[0])
    snapshot = TableLog(store).snapshot()
    assert snapshot.totals.num_files == len(model.live)
    for version, actions in enumerate(history[1:], 1):
        live = set(model.live)
        model.commit(actions)
        is_fresh = all_new(actions, live)
        snapshot = snapshot.after(version, actions, fresh=is_fresh)
        assert snapshot.totals.num_files == len(model.live)
        assert snapshot.totals.size_in_bytes == sum(add.size for add in model.live.values())
        assert sum(snapshot.totals.file_counts) == sum(snapshot.totals.deleted_counts)
        assert sum(snapshot.totals.file_bytes) == snapshot.totals.size_in_bytes


def all_new(actions: list[Action], live: set[Key]) -> bool:
    adds = [key_of(action) for action in actions if isinstance(action, Add)]
    removes = [key_of(action) for action in actions if isinstance(action, Remove)]
    return not live.intersection(adds) and live.issuperset(removes)


@pytest.mark.parametrize("commits", [0, 3])
def test_deltalake_reads_a_table_with_checksum_files(local: Store, commits: int) -> None:
    write_checksum(grow(local, commits))
    table = DeltaTable(local.url)
    assert table.version() == commits
    assert len(table.file_uris()) == len(names(TableLog(local).snapshot()))
