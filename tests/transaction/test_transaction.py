"""Staging, committing, what comes back and what the commit file says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lakebed.errors import (
    AppendOnlyError,
    CommitUnknownError,
    ConcurrentWriteError,
    InvalidArgumentError,
)
from lakebed.log.table_log import TableLog
from lakebed.spec.actions import Txn
from lakebed.storage import Store
from lakebed.transaction import (
    Committed,
    Conflict,
    IsolationLevel,
    Operation,
    Transaction,
    Unknown,
    already_committed,
)
from testkit.faults import FaultStore
from testkit.readers.independent_replay import check, copy_out
from testkit.tables.small_tables import (
    CREATE,
    PLAIN,
    WRITE,
    append,
    create,
    file,
    metadata,
    removal,
)


def read(store: Store, version: int) -> list[dict[str, Any]]:
    data = store.get(f"_delta_log/{version:020d}.json")
    return [json.loads(line) for line in data.splitlines()]


def info(store: Store, version: int) -> dict[str, Any]:
    return read(store, version)[0]["commitInfo"]


def test_a_table_is_created_appended_to_and_reads_back_the_same(
    store: Store, tmp_path: Path
) -> None:
    snapshot = create(store, file("a.parquet"))
    assert snapshot.version == 0
    snapshot = append(snapshot, file("b.parquet"), file("c.parquet"))
    snapshot = append(snapshot, removal(file("a.parquet")), operation=Operation("DELETE"))
    opened = TableLog(store).snapshot()
    for each in (snapshot, opened):
        assert each.version == 2
        assert sorted(each.files(["path"]).column("path").to_pylist()) == ["b.parquet", "c.parquet"]
        assert each.totals.num_files == 2
        assert each.metadata == opened.metadata
    assert check(copy_out(store, tmp_path / "copy")).paths == {"b.parquet", "c.parquet"}


def test_an_append_is_one_put_and_its_snapshot_needs_no_look_at_the_store(store: Store) -> None:
    snapshot = create(FaultStore(store), file("a.parquet"))
    counted = snapshot.store
    assert isinstance(counted, FaultStore)
    counted.calls.clear()
    after = append(snapshot, file("b.parquet"))
    assert after.files(["path"]).num_rows == 2
    assert [call.method for call in counted.calls] == ["put_if_absent", "put_if_absent"]
    assert [call.path[-5:] for call in counted.calls] == [".json", "1.crc"]


def test_a_commit_begins_with_delta_sparks_commit_info(store: Store) -> None:
    operation = Operation(
        "DELETE",
        {"predicate": ["(id = 1)"], "version": 3, "none": None, "flag": True, "of": {"a": 1}},
        tags={"x": "y"},
    )
    snapshot = create(store, file("a.parquet"))
    transaction = Transaction(snapshot, operation=operation, user_metadata="by hand")
    transaction.read_whole_table()
    transaction.stage(file("b.parquet"), removal(file("a.parquet")))
    transaction.metrics({"numRemovedFiles": 1, "note": "text"})
    transaction.commit().unwrap()
    found = info(store, 1)
    assert found.pop("timestamp") > 1_700_000_000_000
    assert found.pop("engineInfo").startswith("Lakebed/")
    assert found.pop("txnId") == transaction.txn_id
    assert len(found.pop("lakebedCrc32")) == 8
    assert found == {
        "operation": "DELETE",
        "operationParameters": {
            "predicate": '["(id = 1)"]',
            "version": 3,
            "none": None,
            "flag": True,
            "of": '{"a":1}',
        },
        "readVersion": 0,
        "isolationLevel": "Serializable",
        "isBlindAppend": False,
        "operationMetrics": {"numRemovedFiles": "1", "note": "text"},
        "userMetadata": "by hand",
        "tags": {"x": "y"},
    }


def test_the_first_commit_has_no_read_version_and_every_append_is_blind(store: Store) -> None:
    append(create(store), file("a.parquet"))
    assert "readVersion" not in info(store, 0)
    assert info(store, 0)["isBlindAppend"] is True
    assert info(store, 1)["isBlindAppend"] is True
    assert info(store, 1)["readVersion"] == 0


def test_small_actions_come_before_files_whatever_the_order_of_staging(memory: Store) -> None:
    create(memory, file("a.parquet"), metadata(), Txn("app", 1), PLAIN)
    names = [next(iter(action)) for action in read(memory, 0)]
    assert names == ["commitInfo", "protocol", "metaData", "txn", "add"]


def test_an_unknown_field_of_an_action_is_written_out_again(memory: Store) -> None:
    create(memory, file("a.parquet", extra={"future": [1, 2]}))
    assert read(memory, 0)[3]["add"]["future"] == [1, 2]


def test_a_transaction_commits_once(memory: Store) -> None:
    transaction = Transaction(create(memory), operation=WRITE)
    transaction.stage(file("a.parquet"))
    transaction.commit().unwrap()
    with pytest.raises(InvalidArgumentError, match="has been committed"):
        transaction.commit()
    assert not memory.exists("_delta_log/00000000000000000002.json")


def test_creating_needs_a_store() -> None:
    with pytest.raises(InvalidArgumentError, match="needs a store"):
        Transaction(None, operation=CREATE)


def test_two_creators_leave_one_table_and_a_conflict_that_names_it(store: Store) -> None:
    late = Transaction(None, store=store, operation=CREATE)
    late.stage(PLAIN, metadata())
    first = create(store, operation=Operation("CREATE TABLE AS SELECT"))
    outcome = late.commit()
    assert isinstance(outcome, Conflict)
    error = outcome.error
    assert isinstance(error, ConcurrentWriteError)
    assert (error.version, error.operation) == (0, "CREATE TABLE AS SELECT")
    assert "version 0 (CREATE TABLE AS SELECT)" in error.message
    assert TableLog(store).snapshot().metadata == first.metadata


def test_a_table_is_not_created_over_one_whose_first_commits_were_cleaned_up(store: Store) -> None:
    append(create(store), file("a.parquet"))
    store.delete("_delta_log/00000000000000000000.json")
    transaction = Transaction(None, store=store, operation=CREATE)
    transaction.stage(PLAIN, metadata())
    outcome = transaction.commit()
    assert isinstance(outcome, Conflict)
    assert isinstance(outcome.error, ConcurrentWriteError)
    assert "at version 1" in outcome.error.message
    assert not store.exists("_delta_log/00000000000000000000.json")


def test_a_version_read_long_ago_is_not_committed_into_a_cleaned_up_hole(store: Store) -> None:
    old = create(store)
    append(append(old, file("a.parquet")), file("b.parquet"))
    store.delete("_delta_log/00000000000000000001.json")
    old.opened_at -= 3600
    transaction = Transaction(old, operation=WRITE)
    transaction.stage(file("c.parquet"))
    outcome = transaction.commit()
    assert isinstance(outcome, Conflict)
    assert "cleaned up" in outcome.error.message
    assert not store.exists("_delta_log/00000000000000000001.json")


def test_a_version_read_long_ago_commits_if_nothing_has_vanished(store: Store) -> None:
    old = create(store)
    append(old, file("a.parquet"))
    old.opened_at -= 3600
    assert append(old, file("b.parquet")).version == 2
    latest = TableLog(store).snapshot()
    latest.opened_at -= 3600
    assert append(latest, file("c.parquet")).version == 3


def test_outcomes_unwrap_to_themselves_or_raise(memory: Store) -> None:
    transaction = Transaction(create(memory), operation=WRITE)
    committed = transaction.commit()
    assert isinstance(committed, Committed)
    assert committed.unwrap() is committed
    assert (committed.version, committed.attempts) == (1, 1)
    with pytest.raises(ConcurrentWriteError):
        Conflict(ConcurrentWriteError("x")).unwrap()
    with pytest.raises(CommitUnknownError):
        Unknown(CommitUnknownError("x"), 7).unwrap()


def test_an_application_finds_its_last_version_before_and_after_it_commits(memory: Store) -> None:
    assert not already_committed(None, "app", 0)
    snapshot = create(memory)
    assert not already_committed(snapshot, "app", 0)
    transaction = Transaction(snapshot, operation=WRITE)
    assert transaction.read_txn("app") is None
    transaction.stage(Txn("app", 7), file("a.parquet"))
    snapshot = transaction.commit().unwrap().snapshot
    assert Transaction(snapshot, operation=WRITE).read_txn("app") == 7
    assert already_committed(snapshot, "app", 6)
    assert already_committed(snapshot, "app", 7)
    assert not already_committed(snapshot, "app", 8)


def test_an_append_only_table_refuses_to_lose_data_but_not_to_rearrange_it(memory: Store) -> None:
    snapshot = create(memory, metadata(appendOnly="true"), file("a.parquet"))
    with pytest.raises(AppendOnlyError, match=r"DELETE removes a\.parquet"):
        append(snapshot, removal(file("a.parquet")), operation=Operation("DELETE"))
    rearranged = removal(file("a.parquet"), data_change=False)
    moved = append(snapshot, rearranged, file("b.parquet", data_change=False))
    assert moved.version == 1


def test_files_that_are_committed_again_are_not_counted_twice(memory: Store) -> None:
    snapshot = create(memory, file("a.parquet"), file("b.parquet"))
    transaction = Transaction(snapshot, operation=Operation("COMPUTE STATS", changes_data=False))
    transaction.restage(file("a.parquet", ids=(1, 2), data_change=False))
    after = transaction.commit().unwrap().snapshot
    assert after.files(["path"]).num_rows == 2
    assert after.totals.num_files == 2
    assert info(memory, 1)["isBlindAppend"] is False
    assert TableLog(memory).snapshot().files(["path"]).num_rows == 2


@pytest.mark.parametrize("level", ["Serializable", "WriteSerializable"])
def test_the_tables_isolation_level_is_used_and_recorded(memory: Store, level: str) -> None:
    append(create(memory, metadata(isolationLevel=level)), file("a.parquet"))
    assert info(memory, 1)["isolationLevel"] == level


def test_commits_that_change_no_data_run_at_snapshot_isolation(memory: Store) -> None:
    snapshot = create(memory, file("a.parquet"))
    optimize = Operation("OPTIMIZE", changes_data=False)
    moved = [removal(file("a.parquet"), data_change=False), file("b.parquet", data_change=False)]
    snapshot = append(snapshot, *moved, operation=optimize)
    assert info(memory, 1)["isolationLevel"] == "SnapshotIsolation"
    append(snapshot, metadata(), operation=Operation("SET TBLPROPERTIES", changes_data=False))
    assert info(memory, 2)["isolationLevel"] == "Serializable"


def test_an_isolation_level_given_by_hand_wins(memory: Store) -> None:
    transaction = Transaction(
        create(memory), operation=WRITE, isolation=IsolationLevel.WRITE_SERIALIZABLE
    )
    transaction.commit().unwrap()
    assert info(memory, 1)["isolationLevel"] == "WriteSerializable"
