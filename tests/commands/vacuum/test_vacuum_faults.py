"""VACUUM beside other writers, killed at every step, and with clocks that disagree."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lakebed.commands.vacuum import vacuum
from lakebed.commands.vacuum.vacuum import own_clock, safe_clock, vacuum_table
from lakebed.commands.vacuum.vacuum_options import VacuumOptions
from lakebed.errors import StorageError
from lakebed.log.table_log import TableLog
from lakebed.log.versions.readable import readable_versions
from lakebed.storage import ObjectMeta, Store, open_store
from testkit.faults import Fault, FaultStore, Killed
from testkit.tables.aged_tables import AgedTable
from testkit.tables.small_tables import append, create, file, new_memory_url


def worn(folder: Path) -> AgedTable:
    """Versions 1 to 4 replace all rows; 2 and 3 have vectors; the last is inside the retention."""
    table = AgedTable(folder)
    table.append(2)
    table.mark(0)
    table.overwrite()
    table.orphan()
    table.tick(100)
    table.append()
    table.tick(100)
    return table


GONE = {1, 2}


def readable(table: AgedTable) -> set[int]:
    return {version for version, there in readable_versions(table.store).items() if there}


def kept(table: AgedTable) -> dict[int, frozenset[int] | None]:
    return {version: table.read(version) for version in (3, 4)}


# --- killed -------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["full", "lite"])
def test_killed_at_any_step_it_leaves_every_promised_version_and_the_next_run_finishes(
    tmp_path: Path, mode: str
) -> None:
    model = worn(tmp_path / "model")
    counting = FaultStore(model.store)
    expected, doomed = kept(model), model.vacuum(counting, mode=mode).num_files
    assert readable(model) == set(range(model.newest + 1)) - GONE
    steps = killing_steps(counting)
    assert len(steps) > doomed + 4
    for step in steps:
        for moment in ("before", "after"):
            table = worn(tmp_path / f"{step}-{moment}")
            store = FaultStore(table.store, Fault(None, step, moment, Killed()))
            with pytest.raises(Killed):
                table.vacuum(store, mode=mode)
            table.forget_clock()
            assert {v: table.read_by_lakebed(v) for v in expected} == expected
            table.vacuum(mode=mode)
            assert set(table.data_files()) == set(model.data_files())
            assert readable(table) == set(range(table.newest + 1)) - GONE
    assert kept(table) == expected


def killing_steps(store: FaultStore) -> list[int]:
    """Every call that changes something, and the calls next to those; the others read alone."""
    writes = {"put", "put_if_absent", "delete", "list_all"}
    near = {n + d for n, call in enumerate(store.calls, 1) if call.method in writes for d in (0, 1)}
    return sorted(n for n in near if n <= len(store.calls))


def test_a_delete_that_fails_is_recorded_and_the_next_run_finishes(tmp_path: Path) -> None:
    table = worn(tmp_path / "table")
    store = FaultStore(table.store, Fault("delete", 1, "before"))
    with pytest.raises(StorageError, match="injected"):
        table.vacuum(store)
    (end,) = table.log.history(1).to_pylist()
    assert (end["operation"], dict(end["operationParameters"])) == (
        "VACUUM END",
        {"status": "FAILED"},
    )
    assert end["operationMetrics"] is None
    assert table.vacuum().num_files > 0
    assert readable(table) == set(range(table.newest + 1)) - GONE


# --- other writers ------------------------------------------------------------------------------


class Meanwhile(FaultStore):
    """Runs something once, just before the first call of a method for which `when` is true."""

    def __init__(self, inner: Store, when: Callable[[str, str], bool]) -> None:
        super().__init__(inner)
        self.when = when
        self.act: Callable[[], None] | None = None
        self._mutex = threading.Lock()

    def _record(self, method: str, path: str) -> Fault | None:
        with self._mutex:
            act = self.act if self.when(method, path) else None
            if act is not None:
                self.act = None
        if act is not None:
            act()
        return super()._record(method, path)


def is_start(method: str, path: str) -> bool:
    return method == "put_if_absent" and path.endswith(".json")


@pytest.mark.parametrize("mode", ["full", "lite"])
def test_a_file_that_a_commit_brings_back_meanwhile_stays(tmp_path: Path, mode: str) -> None:
    """Planned, but not deleted yet, when RESTORE to version 1 comes in between."""
    table = worn(tmp_path / "table")
    store = Meanwhile(table.store, is_start)
    store.act = lambda: table.revert(1)
    result = table.vacuum(store, mode=mode)
    assert result.lost_versions.column("version").to_pylist() == [2]
    assert table.read(table.newest) == table.read(1) == {10, 11, 12, 20, 21, 22}
    assert table.read(2) is None
    recorded = table.log.history().select(["version", "readable"]).to_pylist()
    assert [row["version"] for row in recorded if row["readable"] is False] == [2]


def test_between_two_batches_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vacuum, "BATCH", 1)
    table = worn(tmp_path / "table")
    doomed = table.vacuum(dry_run=True).paths
    assert len(doomed) > 2
    store = Meanwhile(table.store, lambda method, path: (method, path) == ("delete", doomed[0]))
    spared = table.live(1)[-1]
    store.act = lambda: table.commit("RESTORE", [spared])
    done = table.vacuum(store)
    assert done.paths == [path for path in doomed if path != spared.path]
    assert table.read(table.newest) is not None


def test_a_pin_that_comes_meanwhile_counts(tmp_path: Path) -> None:
    table = worn(tmp_path / "table")
    store = Meanwhile(table.store, is_start)
    store.act = lambda: table.pin("audit", 2)
    result = table.vacuum(store)
    assert result.lost_versions.column("version").to_pylist() == []
    assert table.read(2) == {11, 12, 20, 21, 22}


def test_a_writer_that_appends_meanwhile_is_not_disturbed(tmp_path: Path) -> None:
    table = worn(tmp_path / "table")
    store = Meanwhile(table.store, lambda method, _: method == "delete")
    store.act = lambda: table.append(3)
    table.vacuum(store)
    assert len(table.read(table.newest) or ()) == 5 * 3


def test_a_file_that_was_just_written_stays_although_nobody_has_committed_it(
    tmp_path: Path,
) -> None:
    table = worn(tmp_path / "table")
    store = Meanwhile(table.store, lambda method, _: method == "list_all")
    written: list[str] = []
    store.act = lambda: written.append(table.new_file().path)
    table.vacuum(store, retention_hours=0, enforce_retention=False)
    assert written
    assert table.store.exists(written[0])


def test_two_at_once_end_as_one(tmp_path: Path) -> None:
    table = worn(tmp_path / "table")
    store = Meanwhile(table.store, lambda method, _: method == "delete")
    store.act = lambda: vacuum_table(table.log, VacuumOptions(), now_ms=table.now) and None
    table.vacuum(store)
    assert readable(table) == set(range(table.newest + 1)) - GONE


# --- clocks -------------------------------------------------------------------------------------


class SlowClock(FaultStore):
    """A store whose clock is behind by an hour."""

    behind = 3_600_000

    def list_all(self, prefix: str = "") -> Iterator[ObjectMeta]:
        return (self._shifted(found) for found in super().list_all(prefix))

    def head(self, path: str) -> ObjectMeta:
        return self._shifted(super().head(path))

    def _shifted(self, found: ObjectMeta) -> ObjectMeta:
        return found._replace(modified_ms=found.modified_ms - self.behind)


def test_the_clock_of_the_store_decides_if_it_is_behind(tmp_path: Path) -> None:
    """By this machine's clock the file would be an hour old."""
    table = worn(tmp_path / "table")
    store = SlowClock(table.store)
    (table.folder / "just-written").write_bytes(b"x")
    options = VacuumOptions.of(retention_hours=0.5, enforce_retention=False, record=False)
    assert "just-written" not in vacuum_table(TableLog(store), options).paths
    assert store.inner.exists("just-written")
    (table.folder / "just-written").unlink()


def test_the_clock_of_this_machine_decides_if_it_is_behind(tmp_path: Path) -> None:
    table = worn(tmp_path / "table")
    store = SlowClock(table.store)
    store.behind = -3_600_000
    assert safe_clock(store) <= own_clock()


def test_asking_for_the_time_leaves_nothing_behind(tmp_path: Path) -> None:
    table = worn(tmp_path / "table")
    before = table.data_files()
    assert abs(safe_clock(table.store) - own_clock()) < 60_000
    assert table.data_files() == before


def test_the_record_of_a_run_that_was_killed_claims_nothing(tmp_path: Path) -> None:
    table = worn(tmp_path / "table")
    store = FaultStore(table.store, Fault("delete", 2, "before", Killed()))
    with pytest.raises(Killed):
        table.vacuum(store)
    history = table.log.history().to_pylist()
    assert history[0]["operation"] == "VACUUM START"
    assert {row["readable"] for row in history} == {None}
    text = (table.folder / "_delta_log" / f"{table.newest:020}.json").read_text()
    assert json.loads(text.splitlines()[0])["commitInfo"]["operation"] == "VACUUM START"


# --- other stores -------------------------------------------------------------------------------


@pytest.mark.parametrize("probed", [True, False])
def test_a_store_without_folders_or_clocks_of_ours(
    probed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On an object store the log is listed, not probed, and deletions take many threads."""
    monkeypatch.setattr(vacuum, "BATCH", 3)
    store = FaultStore(open_store(new_memory_url()))
    store.cheap_probes = probed
    snapshot = create(store)
    for number in range(8):
        store.put(f"p={number}/orphan", b"12345")
    add = file("p=0/live.parquet")
    store.put(add.path, b"x")
    append(snapshot, add)
    options = VacuumOptions.of(retention_hours=0, enforce_retention=False)
    while store.head(add.path).modified_ms >= own_clock():
        time.sleep(0.001)
    result = vacuum_table(TableLog(store), options)
    assert (result.num_files, result.size_in_bytes, result.num_folders) == (8, 40, 9)
    left = [found.path for found in store.list_all() if not found.path.startswith("_delta_log/")]
    assert left == [add.path]
