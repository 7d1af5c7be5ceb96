"""A fault at every single storage call of a commit: no lost, doubled or torn commit.

Each scenario runs once without faults to count its calls, checksum and checkpoint included. Then
it runs once for every call and every kind of fault. What is in the log afterwards is read by the
independent replay and by delta-rs.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from lakebed.errors import CommitUnknownError, NotWrittenError, StorageError
from lakebed.log.table_log import TableLog
from lakebed.spec.actions import Txn
from lakebed.storage import Store, open_store
from lakebed.transaction import (
    Committed,
    Operation,
    Outcome,
    Retries,
    Transaction,
    Unknown,
    already_committed,
)
from testkit.faults import Fault, FaultStore, Killed, Mode
from testkit.readers.independent_replay import Replayed, check, copy_out
from testkit.tables.small_tables import (
    IMPATIENT,
    PLAIN,
    WRITE,
    append,
    create,
    features,
    file,
    metadata,
    new_memory_url,
)

MODES: tuple[Mode, ...] = ("before", "after", "timeout", "late")
MINE = "mine.parquet"


def creating(_: Store, store: Store) -> Transaction:
    transaction = Transaction(None, store=store, operation=WRITE, retries=IMPATIENT)
    transaction.stage(PLAIN, metadata())
    return transaction


def appending(inner: Store, store: Store) -> Transaction:
    create(inner, file("a.parquet"))
    return on_top(store)


def appending_at_a_checkpoint(inner: Store, store: Store) -> Transaction:
    append(create(inner, metadata(checkpointInterval="2"), file("a.parquet")), file("b.parquet"))
    return on_top(store)


def appending_at_a_checkpoint_in_two_formats(inner: Store, store: Store) -> Transaction:
    table = metadata(checkpointInterval="2", checkpointPolicy="v2")
    create(inner, features("v2Checkpoint", reader=("v2Checkpoint",)), table, file("a.parquet"))
    append(TableLog(inner).snapshot(), file("b.parquet"))
    return on_top(store)


def appending_with_old_commits_to_clean_up(inner: Store, store: Store) -> Transaction:
    """The log is looked through once a day: on the first day it was not allowed."""
    table = metadata(checkpointInterval="2", enableExpiredLogCleanup="false")
    snapshot = create(inner, table, file("a.parquet"))
    for number in range(4):
        snapshot = append(snapshot, file(f"b-{number}.parquet"))
    append(snapshot, replace(table, configuration={"delta.checkpointInterval": "2"}))
    _make_old(inner, days=60)
    return on_top(store)


def losing_one_race(inner: Store, store: Store) -> Transaction:
    create(inner, file("a.parquet"))
    transaction = on_top(store)
    append(TableLog(inner).snapshot(), file("b.parquet"))
    return transaction


def losing_many_races_on_a_distant_store(inner: Store, store: Store) -> Transaction:
    create(inner, file("a.parquet"))
    store.cheap_probes = False
    transaction = on_top(store)
    for number in range(6):
        append(TableLog(inner).snapshot(), file(f"b-{number}.parquet"))
    return transaction


def stamping(inner: Store, store: Store) -> Transaction:
    stamped = metadata(enableInCommitTimestamps="true")
    append(create(inner, features("inCommitTimestamp"), stamped), file("a.parquet"))
    return on_top(store)


def having_read_long_ago(inner: Store, store: Store) -> Transaction:
    create(inner, file("a.parquet"))
    transaction = on_top(store)
    assert transaction.snapshot is not None
    transaction.snapshot.opened_at -= 3600
    return transaction


SCENARIOS: list[Callable[[Store, Store], Transaction]] = [
    creating,
    appending,
    appending_at_a_checkpoint,
    appending_at_a_checkpoint_in_two_formats,
    appending_with_old_commits_to_clean_up,
    losing_one_race,
    losing_many_races_on_a_distant_store,
    stamping,
    having_read_long_ago,
]


def on_top(store: Store) -> Transaction:
    return Transaction(TableLog(store).snapshot(), operation=WRITE, retries=IMPATIENT)


@dataclass
class Place:
    """Where tables are made, each in a place of its own."""

    kind: str
    root: Path
    number: int = 0

    def new(self) -> Store:
        self.number += 1
        local = str(self.root / f"table-{self.number}")
        return open_store(local if self.kind == "local" else new_memory_url())

    def replayed(self, result: Run) -> Replayed:
        """A table on disk is checked where it is."""
        if self.kind == "local":
            return check(self.root / f"table-{self.number}", result.before)
        return check(copy_out(result.inner, self.root / f"copy-{self.number}"), result.before)


@pytest.fixture(params=["local", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return Place(request.param, tmp_path)


@dataclass
class Run:
    inner: Store
    store: FaultStore
    transaction: Transaction
    before: dict[int, bytes]
    outcome: Outcome | None = None
    error: BaseException | None = None


def run(place: Place, scenario: Callable[[Store, Store], Transaction], *faults: Fault) -> Run:
    inner = place.new()
    store = FaultStore(inner)
    transaction = scenario(inner, store)
    transaction.stage(file(MINE), Txn("app", 1))
    store.calls.clear()
    store.counts.clear()
    store.faults = list(faults)
    result = Run(inner, store, transaction, _commits(inner))
    try:
        result.outcome = transaction.commit()
    except (StorageError, Killed) as error:
        result.error = error
    store.faults = []
    store.settle()
    return result


def calls(place: Place, scenario: Callable[[Store, Store], Transaction]) -> int:
    clean = run(place, scenario)
    assert isinstance(clean.outcome, Committed)
    assert not clean.outcome.maintenance_errors
    assert place.replayed(clean).added[MINE] == 1
    return len(clean.store.calls)


def judge(place: Place, result: Run) -> None:
    """What the caller was told is what the log says."""
    state = place.replayed(result)
    times = state.added.get(MINE, 0)
    ours = [
        version
        for version, info in enumerate(state.infos())
        if info["txnId"] == result.transaction.txn_id
    ]
    assert len(ours) == times <= 1
    if isinstance(result.outcome, Committed):
        assert ours == [result.outcome.version]
        found = result.outcome.snapshot.files(["path"]).column("path").to_pylist()
        assert set(found) == state.paths
    elif isinstance(result.outcome, Unknown):
        assert ours in ([], [result.outcome.version])
    elif isinstance(result.error, StorageError):
        assert times == 0


def others_go_on(place: Place, result: Run) -> None:
    """The log is as good as new to whoever comes next."""
    latest = TableLog(result.inner).snapshot()
    after = append(latest, file("next.parquet"))
    state = place.replayed(result)
    assert state.paths == set(after.files(["path"]).column("path").to_pylist())
    assert len(state.commits) == after.version + 1


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_one_fault_at_any_call(
    scenario: Callable[[Store, Store], Transaction], mode: Mode, place: Place
) -> None:
    for number in range(1, calls(place, scenario) + 1):
        result = run(place, scenario, Fault(None, number, mode))
        assert result.store.raised, f"call {number} was not made"
        assert isinstance(result.outcome, Committed), (number, result)
        judge(place, result)
        others_go_on(place, result)


@pytest.mark.parametrize("second", MODES)
@pytest.mark.parametrize("first", MODES)
def test_two_faults_in_a_row_at_any_call(first: Mode, second: Mode, tmp_path: Path) -> None:
    place = Place("memory", tmp_path)
    for scenario in (appending, losing_one_race):
        for number in range(1, calls(place, scenario) + 1):
            result = run(
                place, scenario, Fault(None, number, first), Fault(None, number + 1, second)
            )
            assert isinstance(result.outcome, Committed), (number, result)
            judge(place, result)


@pytest.mark.parametrize("mode", MODES)
def test_a_store_that_stays_broken_gives_an_unknown_outcome_of_one_version(
    mode: Mode, place: Place
) -> None:
    for scenario in (appending, losing_one_race):
        for number in range(1, calls(place, scenario) + 1):
            faults = [
                Fault(None, number, mode),
                *(Fault(None, n, "before") for n in range(number + 1, 60)),
            ]
            result = run(place, scenario, *faults)
            judge(place, result)
            if isinstance(result.outcome, Unknown):
                with pytest.raises(CommitUnknownError, match="it is not known whether version"):
                    result.outcome.unwrap()
            others_go_on(place, result)


@pytest.mark.parametrize("mode", ["before", "after"])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_a_process_that_dies_at_any_call_and_starts_again_commits_exactly_once(
    scenario: Callable[[Store, Store], Transaction], mode: Mode, place: Place
) -> None:
    for number in range(1, calls(place, scenario) + 1):
        result = run(place, scenario, Fault(None, number, mode, Killed()))
        # A call that fails by itself, as a get of a commit that is not there, ends before the kill.
        assert isinstance(result.error, Killed) or isinstance(result.outcome, Committed)
        _start_again(result.inner)
        assert place.replayed(result).added[MINE] == 1
        others_go_on(place, result)


def test_the_clean_up_scenario_does_clean_up(tmp_path: Path) -> None:
    result = run(Place("local", tmp_path), appending_with_old_commits_to_clean_up)
    assert any(call.method == "delete" for call in result.store.calls)
    assert not result.inner.exists("_delta_log/00000000000000000000.json")


def test_a_put_whose_answer_was_lost_is_recognised_and_not_repeated(place: Place) -> None:
    result = run(place, appending, Fault("put_if_absent", 1, "after"))
    assert isinstance(result.outcome, Committed)
    assert (result.outcome.version, result.outcome.attempts) == (1, 1)
    written = [call for call in result.store.calls if call.method == "put_if_absent"]
    assert [call.path[-7:] for call in written] == ["01.json", "001.crc"]


def test_a_put_that_is_still_under_way_is_repeated_at_the_same_version_only(place: Place) -> None:
    result = run(place, appending, Fault("put_if_absent", 1, "late"))
    assert isinstance(result.outcome, Committed)
    assert result.outcome.version == 1
    puts = [call.path for call in result.store.calls if call.method == "put_if_absent"]
    assert [path[-7:] for path in puts] == ["01.json", "01.json", "001.crc"]


def test_a_race_lost_while_the_store_failed_goes_on_at_the_next_version(place: Place) -> None:
    result = run(place, losing_one_race, Fault("put_if_absent", 1, "timeout"))
    assert isinstance(result.outcome, Committed)
    assert (result.outcome.version, result.outcome.attempts) == (2, 2)


def test_a_commit_that_cannot_be_read_back_whole_is_unknown(place: Place) -> None:
    inner = place.new()
    create(inner)
    for data, reason in [
        (b"", "the file is empty"),
        (b'{"commitInfo":{"lakebedCrc32":"12345678"}}', "digest"),
    ]:
        transaction = on_top(inner)
        inner.put("_delta_log/00000000000000000001.json", data)
        outcome = transaction.commit()
        inner.delete("_delta_log/00000000000000000001.json")
        assert isinstance(outcome, Unknown)
        assert outcome.version == 1
        assert reason in outcome.error.message


def test_maintenance_that_fails_is_reported_and_the_commit_stands(place: Place) -> None:
    result = run(place, appending, Fault("put_if_absent", 2, "before"))
    assert isinstance(result.outcome, Committed)
    assert list(result.outcome.maintenance_errors) == ["checksum"]


def test_waiting_for_a_sick_store_is_bounded(place: Place) -> None:
    inner = place.new()
    store = FaultStore(inner)
    create(inner)
    transaction = Transaction(
        TableLog(store).snapshot(),
        operation=Operation("WRITE"),
        retries=Retries(storage_tries=3, storage_delay=0.01),
    )
    assert transaction.snapshot is not None
    transaction.snapshot.files(["path"])
    store.faults = [Fault(None, len(store.calls) + n, "before") for n in range(1, 50)]
    started = time.monotonic()
    assert isinstance(transaction.commit(), Unknown)
    assert time.monotonic() - started < 5
    assert [call.method for call in store.calls[-6:]] == ["put_if_absent", "get"] * 3


def _start_again(inner: Store) -> None:
    """What a job does after a crash: look whether its work is there, and else do it."""
    log = TableLog(inner)
    if not log.exists():
        create(inner, file(MINE), Txn("app", 1))
    elif not already_committed(log.snapshot(), "app", 1):
        append(log.snapshot(), file(MINE), Txn("app", 1))


def _commits(store: Store) -> dict[int, bytes]:
    found = (meta.path for meta in store.list_all("_delta_log"))
    paths = [path for path in found if path.endswith(".json") and path.count(".") == 1]
    return {int(path[-25:-5]): store.get(path) for path in paths}


def _make_old(store: Store, *, days: int) -> None:
    """On disk, give all commits the time of long ago; memory has no such thing."""
    if store.url.startswith("file:"):
        moment = time.time() - days * 86400
        for found in store.list_all("_delta_log"):
            os.utime(Path(store.url.removeprefix("file://")) / found.path, (moment, moment))


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS])
@pytest.mark.parametrize("durability", ["none", "log"])
def test_a_full_disk_or_a_missing_permission_is_definite(
    number: int, durability: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FaultStore(open_store(str(tmp_path), {"durability": durability}))
    transaction = appending(store.inner, store)

    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patched:
        patched.setattr("lakebed.storage.atomic_files.write_all", refuse)
        with pytest.raises(NotWrittenError, match=os.strerror(number)):
            transaction.commit().unwrap()
    assert sum(call.method == "put_if_absent" for call in store.calls) == 1
    assert TableLog(store).snapshot().version == 0


@pytest.mark.parametrize("step", ["close", "_sync"])
def test_a_disk_that_is_full_after_the_commit_has_its_name_does_not_deny_it(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Network drives may say so as late as that; the commit is read back."""
    store = open_store(str(tmp_path), {"durability": "log"})
    transaction = appending(store, store)
    failed: list[int] = []

    def refuse(descriptor: int | str) -> None:
        if isinstance(descriptor, int):
            os_close(descriptor)
        if not failed and (tmp_path / "_delta_log" / f"{1:020d}.json").exists():
            failed.append(1)
            raise OSError(errno.ENOSPC, "No space left on device")

    os_close = os.close
    module = "lakebed.storage.atomic_files" + (".os" if step == "close" else "")
    with monkeypatch.context() as patched:
        patched.setattr(f"{module}.{step}", refuse)
        outcome = transaction.commit()
    assert failed
    assert isinstance(outcome, Committed)
    assert outcome.version == 1


def test_a_refusal_after_an_answer_that_was_lost_stays_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first put may still be under way when the second one is refused."""
    store = open_store(str(tmp_path))
    transaction = appending(store, store)
    puts: list[str] = []

    def put(path: str, _: object) -> None:
        puts.append(path)
        raise StorageError("no answer") if len(puts) == 1 else NotWrittenError("no room")

    monkeypatch.setattr(store, "put_if_absent", put)
    assert isinstance(transaction.commit(), Unknown)
    assert len(puts) > 1
