"""In-commit timestamps (PROTOCOL: Writer Requirements for In-Commit Timestamps)."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from lakebed.errors import LogCorruptedError
from lakebed.formats import commit_file as commit_format
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.spec.actions import CommitInfo
from lakebed.storage import Store
from lakebed.transaction import Operation, Transaction
from testkit.tables.small_tables import WRITE, append, create, features, file, metadata

STAMPED = features("inCommitTimestamp")
ON = metadata(enableInCommitTimestamps="true")
SET = Operation("SET TBLPROPERTIES", changes_data=False)
VERSION = "delta.inCommitTimestampEnablementVersion"
TIMESTAMP = "delta.inCommitTimestampEnablementTimestamp"


def stamp(snapshot: Snapshot) -> int | None:
    assert isinstance(snapshot.commit_info, CommitInfo)
    return snapshot.commit_info.in_commit_timestamp


def clock(monkeypatch: pytest.MonkeyPatch, milliseconds: int) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: milliseconds * 1_000_000)


def test_a_table_without_them_has_none(memory: Store) -> None:
    assert stamp(create(memory, STAMPED)) is None


def test_stamps_grow_even_if_the_clock_goes_back(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock(monkeypatch, 1_000_000)
    snapshot = create(store, STAMPED, ON)
    assert stamp(snapshot) == 1_000_000
    clock(monkeypatch, 5)
    snapshot = append(snapshot, file("a"))
    assert stamp(snapshot) == 1_000_001
    opened = TableLog(store).snapshot()
    assert stamp(append(opened, file("b"))) == 1_000_002
    clock(monkeypatch, 2_000_000)
    assert stamp(append(TableLog(store).snapshot(), file("c"))) == 2_000_000


def test_a_table_created_with_them_needs_no_note_of_when_they_began(memory: Store) -> None:
    assert VERSION not in create(memory, STAMPED, ON).metadata.configuration


def test_turning_them_on_later_notes_version_and_time(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = append(create(store, STAMPED, replace(ON, configuration={})), file("a"))
    modified = store.head("_delta_log/00000000000000000001.json").modified_ms
    clock(monkeypatch, 5)  # the stamp must still be later than the file before
    snapshot = append(snapshot, ON, operation=SET)
    assert stamp(snapshot) == modified + 1
    assert snapshot.metadata.configuration[VERSION] == "2"
    assert snapshot.metadata.configuration[TIMESTAMP] == str(modified + 1)
    assert TableLog(store).snapshot().metadata == snapshot.metadata


def test_replacing_the_metadata_keeps_the_note(memory: Store) -> None:
    snapshot = create(memory, STAMPED, replace(ON, configuration={}))
    snapshot = append(snapshot, ON, operation=SET)
    noted = snapshot.metadata.configuration
    assert noted[VERSION] == "1"
    snapshot = append(snapshot, ON, operation=SET)
    assert snapshot.metadata.configuration == noted


def test_a_lost_race_is_stamped_after_the_winner(
    memory: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock(monkeypatch, 1000)
    snapshot = create(memory, STAMPED, ON)
    late = Transaction(snapshot, operation=WRITE)
    late.stage(file("b"))
    clock(monkeypatch, 9000)
    append(snapshot, file("a"))
    clock(monkeypatch, 2000)
    assert stamp(late.commit().unwrap().snapshot) == 9001


def test_turning_them_on_notes_the_version_it_really_got(memory: Store) -> None:
    snapshot = create(memory, STAMPED, replace(ON, configuration={}))
    late = Transaction(snapshot, operation=SET)
    late.stage(ON)
    append(append(snapshot, file("a")), file("b"))
    after = late.commit().unwrap().snapshot
    assert after.metadata.configuration[VERSION] == "3"
    assert after.metadata.configuration[TIMESTAMP] == str(stamp(after))


def test_a_commit_that_loses_to_turning_them_on_is_stamped_too(memory: Store) -> None:
    snapshot = create(memory, STAMPED, replace(ON, configuration={}))
    late = Transaction(snapshot, operation=WRITE)
    late.stage(file("a"))
    winner = append(snapshot, replace(ON, id=snapshot.metadata.id), operation=SET)
    after = late.commit().unwrap().snapshot
    assert after.version == 2
    assert (stamp(after) or 0) > (stamp(winner) or 0) > 0


def test_a_commit_without_the_stamp_it_should_have_is_named(memory: Store) -> None:
    create(memory, STAMPED, ON)
    path = "_delta_log/00000000000000000000.json"
    actions = commit_format.decode_actions(memory.get(path), path)
    assert isinstance(actions[0], CommitInfo)
    values = {k: v for k, v in actions[0].values.items() if k != "inCommitTimestamp"}
    memory.put(path, commit_format.encode([CommitInfo(values), *actions[1:]], path))
    memory.delete("_delta_log/00000000000000000000.crc")
    with pytest.raises(LogCorruptedError, match=r"0{20}\.json"):
        append(TableLog(memory).snapshot(), file("a"))
    assert not memory.exists("_delta_log/00000000000000000001.json")
