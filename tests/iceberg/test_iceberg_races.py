"""Publishers at the same time, publishers that die, and commits that nobody published."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import lakebed
from lakebed.errors import ConcurrentWriteError
from lakebed.iceberg import publish, publish_commit
from lakebed.iceberg import version_changes as changes
from lakebed.iceberg.layout import HINT, find_current, metadata_path, point_at
from lakebed.log.table_log import TableLog
from lakebed.storage import Store, open_store
from lakebed.transaction import Operation, Transaction
from testkit.faults import Fault, FaultStore, killed_at_every_call
from testkit.tables.iceberg_tables import (
    check_same,
    commit,
    document,
    foreign_commit,
    ids,
    live,
    make,
    manifests,
    numbers,
    removal,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "table"


def published(store: Store) -> bool:
    return publish_commit(TableLog(store).snapshot(), ())


def unpublished(path: Path, *starts: int) -> None:
    """Appends that nobody publishes: written elsewhere, committed by hand."""
    for start in starts:
        away = path.parent / f"away-{start}"
        shutil.copytree(path, away)
        lakebed.write(away, numbers(start, start + 10))
        for file in away.rglob("*"):
            target = path / file.relative_to(away)
            inside = str(file.relative_to(away)).split("/")[0]
            if file.is_file() and not target.exists() and inside != "metadata":
                target.parent.mkdir(exist_ok=True, parents=True)
                shutil.copy(file, target)
        shutil.rmtree(away)


def test_commits_that_nobody_published_are_caught_up_with(path: Path) -> None:
    make(path)
    unpublished(path, 10, 20)
    foreign_commit(path, removal(live(path)[0]))
    assert ids(path) == list(range(10))
    lakebed.write(path, numbers(30, 40))
    check_same(path)
    found = document(path)
    assert found["metadata-log"][-1]["metadata-file"].endswith("v1.metadata.json")
    assert found["snapshots"][-1]["parent-snapshot-id"] == found["snapshots"][0]["snapshot-id"]


@pytest.mark.parametrize("how", ["commits are gone", "far behind", "manifests are gone", "no json"])
def test_what_cannot_be_gone_on_from_is_written_anew(
    path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(path)
    unpublished(path, 10, 20)
    if how == "commits are gone":
        lakebed.open(path).checkpoint()
        for version in (0, 1):
            (path / f"_delta_log/{version:020}.json").unlink()
    elif how == "far behind":
        monkeypatch.setattr(changes, "_MOST_COMMITS", 1)
    elif how == "manifests are gone":
        for file in (path / "metadata").glob("*.avro"):
            file.unlink()
    else:
        (path / metadata_path(1)).write_bytes(b'{"table-uuid": ')
    lakebed.write(path, numbers(30, 40))
    check_same(path)
    assert len(document(path)["snapshots"]) == 1
    assert find_current(open_store(str(path))).number == 2  # type: ignore[union-attr]


def test_a_metadata_file_with_holes_is_written_anew(path: Path) -> None:
    make(path)
    file = path / metadata_path(1)
    file.write_text(file.read_text().replace('"summary"', '"summery"'))
    lakebed.write(path, numbers(10, 20))
    check_same(path)


def test_the_hint_may_be_lost_or_behind(path: Path) -> None:
    make(path)
    lakebed.write(path, numbers(10, 20))
    for text in (None, "1", "nonsense", "99"):
        hint = path / HINT
        hint.unlink() if text is None else hint.write_text(text)
        assert not published(open_store(str(path)))
        check_same(path)


def test_a_late_writer_of_the_hint_does_not_leave_it_behind(path: Path) -> None:
    make(path)
    lakebed.write(path, numbers(10, 20))
    point_at(open_store(str(path)), 1)
    check_same(path)


def test_the_loser_of_a_race_finds_the_newer_version_published(path: Path) -> None:
    """Another publisher comes in before each put of the first one."""
    make(path)
    unpublished(path, 10)
    older = TableLog(open_store(str(path))).snapshot()
    unpublished(path, 20)

    class Overtaken(FaultStore):
        def put_if_absent(self, name: str, data: bytes | bytearray | memoryview) -> None:
            if name == metadata_path(2):
                assert published(open_store(str(path)))
            super().put_if_absent(name, data)

    older.store = Overtaken(open_store(str(path)))
    before = {file.name for file in (path / "metadata").iterdir()}
    assert not publish_commit(older, ())
    check_same(path)
    new = {file.name for file in (path / "metadata").iterdir()} - before
    assert len(new) == 3, "the loser's manifests are gone"


def test_one_that_rebuilds_an_old_version_and_loses_a_race_publishes_the_newest(
    path: Path,
) -> None:
    make(path)
    older = TableLog(open_store(str(path))).snapshot()
    raced = []

    class Overtaken(FaultStore):
        def put_if_absent(self, name: str, data: bytes | bytearray | memoryview) -> None:
            if name == metadata_path(2):
                lakebed.write(path, numbers(10, 20))
                raced.append(name)
            super().put_if_absent(name, data)

    older.store = Overtaken(open_store(str(path)))
    publish(older)
    check_same(path)
    assert raced
    assert document(path)["properties"]["delta-version"] == "1"


def test_one_that_never_wins_gives_up_and_says_so(path: Path) -> None:
    make(path)
    unpublished(path, 10)

    class Beaten(FaultStore):
        def put_if_absent(self, name: str, data: bytes | bytearray | memoryview) -> None:
            # Whoever wins writes the same old version again and again.
            super().put(name, self.inner.get(metadata_path(1)))
            super().put_if_absent(name, data)

    with pytest.raises(ConcurrentWriteError, match="another publisher came first"):
        published(Beaten(open_store(str(path))))


def test_many_writers_at_once_end_with_the_newest_version(path: Path) -> None:
    make(path)

    def write(number: int) -> None:
        for turn in range(3):
            start = 1000 * number + 10 * turn
            lakebed.write(path, numbers(start, start + 10))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(1, 5)))
    check_same(path)
    versions = [int(each["summary"]["delta-version"]) for each in document(path)["snapshots"]]
    assert versions == sorted(set(versions))


def start(path: Path, origin: Path) -> Callable[[], Store]:
    def make_anew() -> Store:
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(origin, path)
        return open_store(str(path))

    return make_anew


@pytest.mark.parametrize("kind", ["removal", "anew"])
def test_killed_anywhere_the_last_snapshot_is_read_and_the_next_commit_catches_up(
    tmp_path: Path, path: Path, kind: str
) -> None:
    make(path)
    lakebed.write(path, numbers(10, 20))
    unpublished(path, 20)
    if kind == "removal":
        foreign_commit(path, removal(live(path)[0]))
    elif kind == "anew":
        (path / metadata_path(2)).write_bytes(b"")
    before, after = ids(path) if kind != "anew" else None, ids_of_delta(path)
    origin, version = tmp_path / "origin", lakebed.open(path).version
    shutil.copytree(path, origin)
    shutil.rmtree(path)

    def check() -> None:
        if before is not None:
            assert ids(path) in (before, after)
        publish_commit(lakebed.open(path).snapshot, ())
        assert document(path)["properties"]["delta-version"] == str(version)

    def run(store: Store) -> None:
        assert isinstance(store, FaultStore)
        snapshot = TableLog(store.inner).snapshot()
        snapshot.store = store
        publish_commit(snapshot, ())

    # The location is part of the metadata, so every try is at the same place.
    assert killed_at_every_call(run, start(path, origin), check) > 8
    assert ids(path) == after


def ids_of_delta(path: Path) -> list[int]:
    found: list[int] = sorted(lakebed.open(path).to_arrow(["id"]).column("id").to_pylist())
    return found


@pytest.mark.parametrize("mode", ["before", "after", "timeout", "late"])
def test_a_failing_store_does_not_fail_the_commit(
    path: Path, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    make(path)
    store = FaultStore(open_store(str(path)))
    snapshot = TableLog(store).snapshot()
    store.faults.append(Fault("put_if_absent", 3, mode))  # type: ignore[arg-type]
    with caplog.at_level(logging.WARNING):
        transaction = Transaction(snapshot, operation=Operation("DELETE"))
        transaction.stage(removal(live(path)[0]))
        outcome = transaction.commit().unwrap()
    assert outcome.version == 1
    assert len(store.raised) == 1
    lost = mode in ("before", "timeout", "late")
    assert ("its Iceberg metadata failed" in caplog.text) == lost
    assert ids(path) == (list(range(10)) if lost else [])
    store.settle()
    lakebed.write(path, numbers(10, 12))
    check_same(path)
    assert len(manifests(path)) <= 2


def test_a_commit_costs_the_same_however_many_files_there_are(path: Path) -> None:
    def calls() -> int:
        store = FaultStore(open_store(str(path)))
        assert published(store)
        return sum(1 for call in store.calls if "metadata" in call.path)

    make(path)
    unpublished(path, 10)
    first = calls()
    for start in range(20, 60, 10):
        lakebed.write(path, numbers(start, start + 10))
    unpublished(path, 90)
    assert calls() == first
    commit(path, removal(live(path)[0]))
    check_same(path)
