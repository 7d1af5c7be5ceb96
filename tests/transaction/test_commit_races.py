"""Many threads on one table: all get on, and where they cannot, exactly one wins."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lakebed.errors import ConcurrentDeleteDeleteError, ConcurrentTransactionError, StorageError
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.spec.actions import Txn
from lakebed.storage import Store
from lakebed.transaction import Committed, Conflict, Operation, Outcome, Retries, Transaction
from testkit.faults import FaultStore
from testkit.readers.independent_replay import check, copy_out
from testkit.tables.small_tables import (
    CREATE,
    PLAIN,
    WRITE,
    append,
    create,
    features,
    file,
    metadata,
    removal,
)

THREADS = 8
COMMITS = 8


def together(work: Callable[[int], Outcome]) -> list[Outcome]:
    """The outcomes of as many threads, all of which begin at the same moment."""
    barrier = threading.Barrier(THREADS)

    def start(number: int) -> Outcome:
        barrier.wait()
        return work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(start, range(THREADS)))


def test_appends_of_many_threads_all_get_there_once(store: Store, tmp_path: Path) -> None:
    start = create(store, metadata(checkpointInterval="7"))

    def work(number: int) -> Outcome:
        snapshot: Snapshot = start
        for commit in range(COMMITS):
            transaction = Transaction(snapshot, operation=WRITE)
            transaction.stage(file(f"{number}-{commit}"))
            outcome = transaction.commit().unwrap()
            snapshot = outcome.snapshot
        return outcome

    outcomes = together(work)
    state = check(copy_out(store, tmp_path / "copy"))
    assert state.paths == {f"{n}-{c}" for n in range(THREADS) for c in range(COMMITS)}
    assert set(state.added.values()) == {1}
    last = max(outcomes, key=lambda outcome: outcome.unwrap().version).unwrap()
    assert last.version == THREADS * COMMITS
    # The snapshot that was carried along, commit by commit, is the table.
    assert set(last.snapshot.files(["path"]).column("path").to_pylist()) == state.paths
    assert last.snapshot.totals.num_files == THREADS * COMMITS
    assert TableLog(store).snapshot().totals.num_files == THREADS * COMMITS


def test_row_ids_given_out_by_many_threads_never_overlap(store: Store, tmp_path: Path) -> None:
    start = create(store, features("domainMetadata", "rowTracking"))

    def work(number: int) -> Outcome:
        transaction = Transaction(start, operation=WRITE)
        transaction.stage(file(f"{number}-a", rows=number + 1), file(f"{number}-b", rows=2))
        return transaction.commit()

    together(work)
    given = []
    for add in check(copy_out(store, tmp_path / "copy")).files.values():
        rows = 2 if add["path"].endswith("b") else int(add["path"][0]) + 1
        given += range(add["baseRowId"], add["baseRowId"] + rows)
    assert sorted(given) == list(range(sum(range(1, THREADS + 1)) + 2 * THREADS))


def test_of_many_that_create_a_table_one_does(store: Store) -> None:
    def work(number: int) -> Outcome:
        transaction = Transaction(None, store=store, operation=CREATE)
        transaction.stage(PLAIN, metadata(), file(f"of-{number}"))
        return transaction.commit()

    outcomes = together(work)
    assert sum(isinstance(outcome, Committed) for outcome in outcomes) == 1
    assert sum(isinstance(outcome, Conflict) for outcome in outcomes) == THREADS - 1
    snapshot = TableLog(store).snapshot()
    winner = next(n for n, outcome in enumerate(outcomes) if isinstance(outcome, Committed))
    assert snapshot.version == 0
    assert snapshot.files(["path"]).column("path").to_pylist() == [f"of-{winner}"]


def test_of_many_that_remove_a_file_one_does(store: Store) -> None:
    start = create(store, file("a"))

    def work(_: int) -> Outcome:
        transaction = Transaction(start, operation=Operation("DELETE"))
        transaction.stage(removal(file("a")))
        return transaction.commit()

    errors = [o.error for o in together(work) if isinstance(o, Conflict)]
    assert len(errors) == THREADS - 1
    assert {error.code for error in errors} == {ConcurrentDeleteDeleteError.code}
    assert TableLog(store).snapshot().version == 1


def test_of_many_that_repeat_the_work_of_one_application_one_does(store: Store) -> None:
    start = create(store)

    def work(number: int) -> Outcome:
        transaction = Transaction(start, operation=WRITE)
        transaction.stage(Txn("app", 1), file(f"of-{number}"))
        return transaction.commit()

    errors = [o.error for o in together(work) if isinstance(o, Conflict)]
    assert len(errors) == THREADS - 1
    assert {error.code for error in errors} == {ConcurrentTransactionError.code}


@pytest.mark.parametrize("distant", [True, False])
def test_whoever_is_far_behind_catches_up_at_once(distant: bool, memory: Store) -> None:
    create(memory)
    store = FaultStore(memory)
    store.cheap_probes = not distant
    transaction = Transaction(TableLog(store).snapshot(), operation=WRITE)
    transaction.stage(file("late"))
    assert transaction.snapshot is not None
    transaction.snapshot.files(["path"])
    snapshot = TableLog(memory).snapshot()
    for number in range(300):
        snapshot = append(snapshot, file(f"{number}"))
    store.calls.clear()
    outcome = transaction.commit().unwrap()
    assert (outcome.version, outcome.attempts) == (301, 2)
    assert outcome.snapshot.files(["path"]).num_rows == 301
    if distant:
        # One lost put, a few commits one by one, then lists and many at a time, then the put.
        assert len([call for call in store.calls if call.method == "get"]) <= 6
        assert len(store.calls) < 20


def test_pauses_are_random_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("time.sleep", slept.append)
    retries = Retries(first_delay=0.001, longest_delay=0.05, storage_delay=0.1)
    for attempt in (0, 3, 10, 1_000_000):
        for _ in range(50):
            retries.pause_after_race(attempt)
        assert len(set(slept)) > 1
        assert 0 <= min(slept) <= max(slept) <= min(0.05, 0.001 * 2**attempt if attempt < 20 else 1)
        slept.clear()
    for attempt in range(4):
        retries.pause_after_failure(attempt)
        assert 0.05 * 2**attempt <= slept[-1] <= 0.1 * 2**attempt


def test_reading_is_repeated_until_it_works_or_has_been_tried_enough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    left = [2]

    def read() -> str:
        left[0] -= 1
        if left[0] >= 0:
            raise StorageError("down")
        return "up"

    assert Retries(storage_tries=3).reading(read) == "up"
    left[0] = 3
    with pytest.raises(StorageError, match="down"):
        Retries(storage_tries=3).reading(read)
