"""8 processes change rows of the same three files at once, and half of them are killed.

Two are killed from outside at some moment, one kills itself before the commit of a change and one
right after it. In the end the versions of the table are the acknowledged changes, one after the
other: each version has the rows that plain Python computes from the one before.
"""

from __future__ import annotations

import json
import random
import shutil
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lakebed
from testkit.readers.other_readers import duckdb_with_delta
from testkit.servers.changing_writer import (
    Change,
    Death,
    Kind,
    Plan,
    Report,
    Shares,
    Writer,
    random_changes,
    started,
)

Rows = dict[int, tuple[int, str]]
"""n and last by id."""

WRITERS = 8
CHANGES = 3
MANY_CHANGES = 100
"""More than anybody makes in the time: these writers are killed."""
ROWS, FILES = 200, 3
KINDS: Sequence[Kind] = ("delete", "update", "update", "lower", "merge", "append")
DEATHS: dict[int, Death] = {4: "before", 5: "after"}
VICTIMS = (6, 7)
LONGEST_SECONDS = 300


LEVELS = pytest.mark.parametrize("row_level", [True, False], ids=["rows", "files"])


@LEVELS
def test_changes_of_eight_processes_are_as_if_one_after_the_other(
    connect_server: str, tmp_path: Path, row_level: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    check_changes(connect_server, tmp_path, row_level, capsys)


@LEVELS
def test_changes_of_eight_processes_without_spark_are_as_if_one_after_the_other(
    tmp_path: Path, row_level: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    check_changes("", tmp_path, row_level, capsys)


def check_changes(
    server: str, tmp_path: Path, row_level: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "table"
    first = create(table)
    plans = [plan(number, server, table, row_level) for number in range(WRITERS)]
    with started(plans, tmp_path) as writers:
        run(writers)
    check_ends(writers)
    order = serial_order(table, plans)
    check_acknowledged(writers, order)
    check_versions(table, first, [change for change, _ in order.values()], writers)
    check_other_ways_to_read(table, tmp_path / "copy")
    resolved = resolved_by_rows(commits(table))
    assert bool(resolved) == row_level
    with capsys.disabled():
        print(f"\nchanges that conflict, row-level resolution {'on' if row_level else 'off'}:")
        print(Shares.of(reports(writers)))
        print(f"  {len(resolved)} of {len(order)} commits changed other rows of files just changed")


# --- the writers ----------------------------------------------------------------------------------


def create(table: Path) -> Rows:
    """Each file has ids from everywhere: no change can tell by them that a file is not for it."""
    properties = {"delta.enableDeletionVectors": "true", "delta.checkpointInterval": "5"}
    rows = {number: (number % 4, "start") for number in range(ROWS)}
    for part in range(FILES):
        ids = list(rows)[part::FILES]
        n, last = zip(*(rows[each] for each in ids), strict=True)
        data = pa.table({"id": ids, "n": n, "last": last})
        lakebed.write(table, data, properties={} if part else properties)
    return rows


def plan(number: int, server: str, table: Path, row_level: bool) -> Plan:
    dice = random.Random(number)
    count = MANY_CHANGES if number in DEATHS or number in VICTIMS else CHANGES
    changes = random_changes(dice, number, count, rows=ROWS, kinds=KINDS)
    return Plan(f"w{number}", server, str(table), row_level, changes, DEATHS.get(number))


def run(writers: Sequence[Writer]) -> None:
    """The victims are killed when so many changes have ended, whatever they are doing then."""
    dice = random.Random()
    victims = {number: dice.randrange(2, 8) for number in VICTIMS}
    deadline = time.monotonic() + LONGEST_SECONDS
    while any(writer.process.poll() is None for writer in writers):
        assert time.monotonic() < deadline, "the writers do not get on"
        ended = sum(report["event"] != "begins" for report in reports(writers))
        for number in [number for number, moment in victims.items() if ended >= moment]:
            del victims[number]
            time.sleep(dice.uniform(0, 0.5))
            writers[number].process.kill()
        time.sleep(0.02)


def reports(writers: Sequence[Writer]) -> list[Report]:
    return [report for writer in writers for report in writer.reports()]


def check_ends(writers: Sequence[Writer]) -> None:
    for number, writer in enumerate(writers):
        killed = number in DEATHS or number in VICTIMS
        expected = -signal.SIGKILL if killed else 0
        assert writer.process.returncode == expected, writer.complaints
        if not killed:
            ended = [report["name"] for report in writer.reports() if report["event"] != "begins"]
            assert ended == [change.name for change in writer.plan.changes]


# --- the order ------------------------------------------------------------------------------------


def commits(table: Path) -> list[list[dict[str, Any]]]:
    """The actions of all versions, as the log has them."""
    files = sorted((table / "_delta_log").glob("*.json"))
    assert [int(file.stem) for file in files] == list(range(len(files)))
    return [[json.loads(line) for line in file.read_text().splitlines()] for file in files]


def serial_order(table: Path, plans: Sequence[Plan]) -> dict[str, tuple[Change, int]]:
    """The changes and their versions. Each commit is of a change, and none of a change again."""
    known = {change.name: change for plan in plans for change in plan.changes}
    order: dict[str, tuple[Change, int]] = {}
    for version, actions in enumerate(commits(table)):
        if version >= FILES:
            name = name_of(actions[0]["commitInfo"])
            assert name not in order, f"{name} was committed twice"
            order[name] = (known[name], version)
    return order


def name_of(info: Mapping[str, Any]) -> str:
    if "userMetadata" in info:
        return str(info["userMetadata"])
    (text,) = json.loads(info["operationParameters"]["predicate"])
    return str(text).split("'")[1]


def check_acknowledged(writers: Sequence[Writer], order: Mapping[str, tuple[Change, int]]) -> None:
    """What was acknowledged is there, what was refused is not, and time goes forward."""
    ends = {}
    begins = {}
    for number, writer in enumerate(writers):
        told = writer.reports()
        begins.update({each["name"]: each for each in told if each["event"] == "begins"})
        ended = {each["name"]: each for each in told if each["event"] != "begins"}
        ends.update(ended)
        unknown = [each["name"] for each in told if each["name"] not in ended]
        assert len(unknown) <= 1
        if number in DEATHS:
            assert [name in order for name in unknown] == [DEATHS[number] == "after"]
    assert order.keys() <= begins.keys()
    for name, end in ends.items():
        has_commit = end["event"] == "done" and end["rows"] > 0
        assert (name in order) == has_commit, end
    places = {name: place(order, end) for name, end in ends.items() if end["event"] == "done"}
    for name, begin in begins.items():
        before = [places[other] for other in places if ends[other]["at"] < begin["at"]]
        if name in places:
            assert places[name] >= max(before, default=0), name


def place(order: Mapping[str, tuple[Change, int]], end: Report) -> float:
    """A change that found no row comes right after the version that it looked at."""
    return order[end["name"]][1] if end["name"] in order else end["tries"][-1] + 0.5


# --- the rows -------------------------------------------------------------------------------------


def check_versions(
    table: Path, first: Rows, order: Sequence[Change], writers: Sequence[Writer]
) -> None:
    states = [first]
    changed = {}
    for change in order:
        states.append(applied(states[-1], change))
        changed[change.name] = num_changed(states[-2], states[-1])
    for number, state in enumerate(states):
        assert read(table, FILES - 1 + number) == rows_of(state)
    changes = {change.name: change for writer in writers for change in writer.plan.changes}
    for report in reports(writers):
        if report["event"] == "done" and report["rows"]:
            assert report["rows"] == changed[report["name"]], report
        elif report["event"] == "done":
            state = states[report["tries"][-1] - FILES + 1]
            assert applied(state, changes[report["name"]]) == state, report


def applied(rows: Rows, change: Change) -> Rows:
    """The change in plain Python."""
    if change.kind == "delete":
        return {key: row for key, row in rows.items() if key not in change.ids}
    after = dict(rows)
    if change.kind == "lower":
        for key in range(min(change.ids), max(change.ids) + 1):
            if key in rows and rows[key][0] > 1:
                after[key] = (rows[key][0] - 1, change.name)
        return after
    for key in change.ids:
        if key in rows:
            assert change.kind != "append"
            after[key] = (rows[key][0] + 1, change.name)
        elif change.kind in ("merge", "append"):
            after[key] = (1, change.name)
    return after


def num_changed(before: Rows, after: Rows) -> int:
    return sum(before.get(key) != after.get(key) for key in before.keys() | after.keys())


def rows_of(state: Rows) -> list[tuple[Any, ...]]:
    return sorted((key, *row) for key, row in state.items())


def read(table: Path, version: int | None = None) -> list[tuple[Any, ...]]:
    """Without Spark."""
    found = lakebed.open(table, version=version).to_arrow(["id", "n", "last"])
    return sorted(tuple(row.values()) for row in found.to_pylist())


def check_other_ways_to_read(table: Path, copy: Path) -> None:
    """Checkpoints that were written in the crowd say what the commits say."""
    log = table / "_delta_log"
    hint = json.loads((log / "_last_checkpoint").read_text())
    assert hint["version"] >= FILES
    expected = read(table)
    assert by_duckdb(table) == expected
    shutil.copytree(table, copy)
    for path in (copy / "_delta_log").iterdir():
        if path.suffix != ".json":
            path.unlink()
    assert read(copy) == expected
    for version in sorted({int(path.name[:20]) for path in log.glob("*.checkpoint*.parquet")}):
        assert read(copy, version) == read(table, version)


def by_duckdb(table: Path) -> list[tuple[Any, ...]]:
    with duckdb_with_delta() as connection:
        query = f"SELECT id, n, last FROM delta_scan('{table}')"
        return sorted(connection.execute(query).fetchall())


def resolved_by_rows(log: Sequence[Sequence[Mapping[str, Any]]]) -> list[int]:
    """Versions that mark rows of files which others changed after the version they began from."""
    found = []
    removed = [{each["remove"]["path"] for each in actions if "remove" in each} for actions in log]
    for version, actions in enumerate(log):
        added = {each["add"]["path"] for each in actions if "add" in each}
        began = actions[0]["commitInfo"].get("readVersion", version)
        between = set().union(*removed[began + 1 : version])
        if removed[version] & added & between:
            found.append(version)
    return found
