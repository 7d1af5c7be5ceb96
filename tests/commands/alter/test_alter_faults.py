"""Every kind of change, killed at each write to the store and beside a writer that appends.

The table is as before or as after, for Lakebed and for DuckDB, and the next run finishes the work.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from alter_commands import COMMANDS, NEW, ROWS, Command, Row

import lakebed
from lakebed.commands.alter.table_properties import set_properties
from lakebed.commands.create.create_table import create_table
from lakebed.errors import ConflictError, LakebedError
from lakebed.storage import Store, open_store
from testkit.faults import Fault, FaultStore, Killed
from testkit.other_writers import target
from testkit.readers.other_readers import by_duckdb, ordered


class _WriteFaults(FaultStore):
    """Only what changes the store counts."""

    def _record(self, method: str, path: str) -> Fault | None:
        if method not in ("put", "put_if_absent", "delete"):
            return None
        return super()._record(method, path)


class _Meanwhile(FaultStore):
    """Somebody else commits just before the `number`-th commit to the table."""

    def __init__(self, inner: Store, number: int, act: Callable[[], object]) -> None:
        super().__init__(inner)
        self.number, self.act = number, act
        self.commits = 0

    def _record(self, method: str, path: str) -> Fault | None:
        if method == "put_if_absent" and path.endswith(".json") and "/_" not in path:
            self.commits += 1
            if self.commits == self.number:
                self.act()
        return super()._record(method, path)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_that_is_killed_leaves_a_whole_table_and_can_be_finished(
    tmp_path: Path, name: str
) -> None:
    """To be killed after a write is to be killed before the next one."""
    command = COMMANDS[name]
    origin = tmp_path / "origin"
    command.make(origin)
    before = _seen_by_all(origin)
    assert ordered(before) == ordered(ROWS.to_pylist())
    assert not command.done(lakebed.open(origin))
    after = command.rows_after(before)
    count = _writes(tmp_path, origin, command, after)
    assert count >= 1
    for number in range(1, count + 1):
        path = _copy(origin, tmp_path / f"killed-{number}")
        store = _WriteFaults(open_store(str(path)), Fault(None, number, "before", Killed()))
        with pytest.raises(Killed):
            command.run(target(path, store))
        done = command.done(lakebed.open(path))
        assert ordered(_seen_by_all(path)) == ordered(after if done else before)
        command.finish(path, target(path))
        assert command.done(lakebed.open(path)), number
        assert ordered(_seen_by_all(path)) == ordered(after)


@pytest.mark.parametrize("name", COMMANDS)
def test_rows_that_another_writer_appends_meanwhile_are_neither_lost_nor_doubled(
    tmp_path: Path, name: str
) -> None:
    """Both hold, or the command gives way to the rows, changes nothing, and can be repeated."""
    command = COMMANDS[name]
    origin = tmp_path / "origin"
    command.make(origin)
    number = 1
    while True:
        path = _copy(origin, tmp_path / f"meanwhile-{number}")
        more = lakebed.open(path).to_arrow().slice(0, 1)
        before = [*_seen_by_all(path), *more.to_pylist()]
        store = _Meanwhile(open_store(str(path)), number, lambda: lakebed.write(path, more))  # noqa: B023
        try:
            command.run(target(path, store))
        except ConflictError:
            assert not command.done(lakebed.open(path))
            assert ordered(_seen_by_all(path)) == ordered(before)
        if store.commits < number:
            break
        command.finish(path, target(path))
        assert command.done(lakebed.open(path))
        assert ordered(_seen_by_all(path)) == ordered(command.rows_after(before))
        number += 1
    assert number > 1


def test_a_creation_that_is_killed_leaves_a_table_or_none(tmp_path: Path) -> None:
    counted = _WriteFaults(open_store(str(tmp_path / "counted")))
    create_table(target(tmp_path / "counted", counted), NEW, "create")
    assert counted.calls
    for number in range(1, len(counted.calls) + 1):
        path = tmp_path / f"killed-{number}"
        store = _WriteFaults(open_store(str(path)), Fault(None, number, "before", Killed()))
        with pytest.raises(Killed):
            create_table(target(path, store), NEW, "create")
        create_table(target(path), NEW, "create_if_not_exists")
        assert (lakebed.open(path).version, _seen_by_all(path)) == (0, [])


def _copy(origin: Path, path: Path) -> Path:
    """With the times of the files, by which a log is cleaned up."""
    shutil.copytree(origin, path)
    return path


def _seen_by_all(path: Path) -> list[Row]:
    rows = lakebed.open(path).to_arrow().to_pylist()
    assert ordered(rows) == ordered(by_duckdb(path))
    return rows


def _writes(folder: Path, origin: Path, command: Command, after: list[Row]) -> int:
    path = _copy(origin, folder / "counted")
    store = _WriteFaults(open_store(str(path)))
    command.run(target(path, store))
    assert command.done(lakebed.open(path))
    assert ordered(_seen_by_all(path)) == ordered(after)
    return len(store.calls)


def test_a_store_that_fails_is_an_error_of_ours_and_the_rows_stay(tmp_path: Path) -> None:
    path = tmp_path / "t"
    lakebed.write(path, ROWS)
    store = _WriteFaults(open_store(str(path)), *(Fault(None, n, "before") for n in range(1, 9)))
    with pytest.raises(LakebedError):
        set_properties(target(path, store), {"a": "1"})
    assert ordered(by_duckdb(path)) == ordered(ROWS.to_pylist())
