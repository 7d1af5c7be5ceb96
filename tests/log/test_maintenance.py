from __future__ import annotations

import logging

import pytest
from deltalake import DeltaTable

from lakebed.errors import StorageError
from lakebed.formats import last_checkpoint
from lakebed.log.listing.checkpoint_hint import cleaned_up_to
from lakebed.log.listing.log_names import LAST_CHECKPOINT, checksum_path, classic_checkpoint_path
from lakebed.log.post_commit import PostCommit, run_hooks
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.spec.actions import Action, Remove
from lakebed.storage import Store
from lakebed.transaction.post_commit_hooks import POST_COMMIT_HOOKS
from testkit.faults import Fault, FaultStore
from testkit.tables.log_tables import (
    DAY,
    NOW,
    V2,
    create,
    file,
    memory_store,
    metadata,
    names,
    paths,
    write_commit,
)
from testkit.timed_store import TimedStore


def commit(snapshot: Snapshot, *actions: Action, now_ms: int = NOW) -> PostCommit:
    """The next version as a writer makes it: without reading anything back."""
    version = snapshot.version + 1
    write_commit(snapshot.store, version, *actions, info=bool(actions))
    after = snapshot.after(version, actions, fresh=True)
    return run_hooks(POST_COMMIT_HOOKS, after, previous=snapshot, now_ms=now_ms)


def run(snapshot: Snapshot, until: int, now_ms: int = NOW) -> Snapshot:
    while snapshot.version < until:
        snapshot = commit(snapshot, file(snapshot.version + 1), now_ms=now_ms).snapshot
    return snapshot


def created(store: Store, **table: str) -> Snapshot:
    snapshot = create(store, file(0), **table)
    return run_hooks(POST_COMMIT_HOOKS, snapshot, previous=None, now_ms=NOW).snapshot


def test_every_commit_gets_a_checksum_and_every_tenth_a_checkpoint(memory: Store) -> None:
    run(created(memory), 21)
    written = paths(memory)
    assert [path for path in written if "checkpoint" in path] == [
        "00000000000000000010.checkpoint.parquet",
        "00000000000000000020.checkpoint.parquet",
        "_last_checkpoint",
    ]
    assert len([path for path in written if path.endswith(".crc")]) == 22


def test_the_table_chooses_its_interval_and_its_kind(memory: Store) -> None:
    run(created(memory, protocol=V2, checkpointInterval="3", checkpointPolicy="v2"), 7)
    found = [path for path in paths(memory) if ".checkpoint." in path]
    assert [(path[:20], len(path)) for path in found] == [
        ("0" * 19 + "3", 76),
        ("0" * 19 + "6", 76),
    ]


def test_a_table_that_was_just_created_gets_no_checkpoint(memory: Store) -> None:
    created(memory, checkpointInterval="1")
    assert paths(memory) == ["00000000000000000000.crc", "00000000000000000000.json"]


def test_the_snapshot_to_go_on_with_equals_the_one_that_is_read(store: Store) -> None:
    snapshot = created(store, checkpointInterval="4")
    for version in range(1, 14):
        removed = [Remove.of(file(version - 3), timestamp=NOW)] if version > 3 else []
        snapshot = commit(snapshot, file(version), *removed).snapshot
        read = TableLog(store).snapshot()
        assert names(snapshot) == names(read)
        assert snapshot.totals == read.totals
        assert snapshot.tombstones(["path"]).num_rows == read.tombstones(["path"]).num_rows


def test_after_a_checkpoint_the_tail_of_the_snapshot_is_empty(memory: Store) -> None:
    snapshot = run(created(memory), 10)
    assert snapshot.segment.commits == ()
    assert snapshot.segment.checkpoint is not None
    assert len(run(snapshot, 12).segment.commits) == 2


def test_statistics_are_parsed_once_for_all_checkpoints_to_come(
    memory: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[int] = []
    from lakebed.log.maintenance import checkpoint_content

    original = checkpoint_content.parse_stats
    monkeypatch.setattr(
        checkpoint_content,
        "parse_stats",
        lambda texts, schema: parsed.append(len(texts)) or original(texts, schema),
    )
    snapshot = created(memory, checkpointInterval="2")
    for version in range(1, 7):
        snapshot = commit(snapshot, file(version, stats={"numRecords": version})).snapshot
    assert parsed == [3, 2, 2]
    assert len(names(TableLog(memory).snapshot())) == 7


def test_a_checkpoint_costs_one_put_for_itself_and_one_for_the_hint() -> None:
    store = FaultStore(memory_store())
    calls, _ = calls_of(store, run(created(store), 9))
    # The commit, its checksum file and the checkpoint; then the hint.
    assert [call for call in calls if call.startswith("put")] == [*["put_if_absent"] * 3, "put"]


def calls_of(store: FaultStore, snapshot: Snapshot) -> tuple[list[str], Snapshot]:
    calls = len(store.calls)
    after = commit(snapshot, file(snapshot.version + 1)).snapshot
    return [call.method for call in store.calls[calls:]], after


def test_between_checkpoints_a_commit_costs_its_own_put_and_one_more() -> None:
    store = FaultStore(memory_store())
    snapshot = run(created(store), 10)
    for _ in range(9):
        calls, snapshot = calls_of(store, snapshot)
        # The provenance is looked up since these commits were not made by a transaction.
        assert [call for call in calls if call != "get"] == ["put_if_absent", "put_if_absent"]


def test_deltalake_reads_a_table_that_was_maintained(local: Store) -> None:
    run(created(local, checkpointInterval="3"), 8)
    table = DeltaTable(local.url)
    assert (table.version(), len(table.file_uris())) == (8, 9)


# --- clean-up -----------------------------------------------------------------------------------


def test_the_log_is_cleaned_up_once_a_day() -> None:
    clock = {version: NOW - 100 * DAY + version for version in range(100)}
    store = TimedStore(memory_store(), clock.__getitem__)
    snapshot = run(created(store, checkpointInterval="5"), 9, now_ms=NOW - 100 * DAY)
    before = paths(store)
    report = commit(snapshot, file(10), now_ms=NOW)
    assert set(before) - set(paths(store))
    assert not report.errors
    hint = last_checkpoint.decode(store.get(LAST_CHECKPOINT), LAST_CHECKPOINT)
    assert cleaned_up_to(hint) == (NOW - 30 * DAY) // DAY * DAY
    run(report.snapshot, 14)
    assert listings_of_next(store, NOW) == 0
    assert listings_of_next(store, NOW + DAY) > 0


def listings_of_next(store: TimedStore, now_ms: int) -> int:
    """How often the log is listed by the next checkpoint, which is made in a copy."""
    twin = TimedStore(memory_store(), store.clock)
    for found in store.list_all():
        twin.put(found.path, store.get(found.path))
    snapshot = TableLog(twin).snapshot()
    before = twin.counts["list_from"]
    assert "checkpoint" in commit(snapshot, file(snapshot.version + 1), now_ms=now_ms).due
    return twin.counts["list_from"] - before


def test_where_clean_up_is_off_nobody_looks() -> None:
    store = FaultStore(memory_store())
    snapshot = run(created(store, enableExpiredLogCleanup="false"), 9)
    calls, _ = calls_of(store, snapshot)
    assert "list_from" not in calls
    assert cleaned_up_to(last_checkpoint.decode(store.get(LAST_CHECKPOINT), "hint")) is None


# --- failures -----------------------------------------------------------------------------------


def test_a_failure_at_any_call_is_reported_and_fails_no_commit(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING, "lakebed")
    number, steps = 0, set()
    while True:
        number += 1
        store = FaultStore(memory_store())
        snapshot = run(created(store, checkpointInterval="2"), 1)
        write_commit(store, 2, file(2))
        after = snapshot.after(2, [file(2)], fresh=True)
        store.faults = [Fault(None, len(store.calls) + number, "before")]
        report = run_hooks(POST_COMMIT_HOOKS, after, previous=snapshot, now_ms=NOW)
        if not store.raised:
            break
        assert all(isinstance(error, StorageError) for error in report.errors.values())
        assert report.errors
        steps |= set(report.errors)
        store.faults = []
        assert names(report.snapshot) == names(TableLog(store).snapshot())
        assert names(run(report.snapshot, 4)) == [f"{n}.parquet" for n in range(5)]
    assert steps == {"checksum", "checkpoint", "clean-up", "hint"}
    assert "after version 2 was committed, its checkpoint failed" in caplog.text


def test_a_failed_clean_up_is_tried_again_at_the_next_checkpoint() -> None:
    store = FaultStore(memory_store(), Fault("list_from", 3, "before"))
    snapshot = run(created(store, checkpointInterval="2"), 1)
    store.faults = [Fault("list_from", store.counts["list_from"] + 1, "before")]
    report = commit(snapshot, file(2))
    assert set(report.errors) == {"clean-up"}
    assert cleaned_up_to(last_checkpoint.decode(store.get(LAST_CHECKPOINT), "hint")) is None
    run(report.snapshot, 4)
    assert cleaned_up_to(last_checkpoint.decode(store.get(LAST_CHECKPOINT), "hint")) is not None


def test_an_error_of_our_own_fails_no_commit(
    memory: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("lakebed.log.maintenance.checkpoint_hook.content_of", broken)
    report = commit(created(memory, checkpointInterval="1"), file(1))
    assert str(report.errors["checkpoint"]) == "a bug"
    assert names(report.snapshot) == ["0.parquet", "1.parquet"]


def test_a_property_that_makes_no_sense_fails_no_commit(memory: Store) -> None:
    report = commit(created(memory), metadata(checkpointInterval="often"))
    assert "checkpoint" in report.errors
    assert "checkpoint" not in report.due


def test_files_that_somebody_else_wrote_first_are_left_alone(memory: Store) -> None:
    snapshot = run(created(memory, checkpointInterval="2"), 1)
    memory.put(checksum_path(2), b"theirs")
    memory.put(classic_checkpoint_path(2), b"theirs too")
    report = commit(snapshot, file(2))
    assert not report.errors
    assert memory.get(checksum_path(2)) == b"theirs"
    assert memory.get(classic_checkpoint_path(2)) == b"theirs too"
