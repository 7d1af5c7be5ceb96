"""Logs that pretend to be huge, or whose files never end, cost bounded time and memory."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow as pa
import pytest

import lakebed
from lakebed.errors import LakebedError, LogCorruptedError
from lakebed.log.listing.listing import latest_segment, newer_commits, read_hint
from lakebed.log.listing.log_names import LAST_CHECKPOINT, LogFile, commit_path
from lakebed.log.listing.segment import build_segment
from lakebed.spec.limits import HINT_BYTES
from lakebed.storage import open_store
from testkit.gauges import CountingStore, instructions

MOST_INSTRUCTIONS = 50_000


@pytest.fixture
def table(tmp_path: Path) -> Path:
    lakebed.write(tmp_path, pa.table({"a": [1, 2, 3]}))
    return tmp_path


@pytest.mark.parametrize("version", [2**63 - 1, 10**20 - 1])
def test_a_commit_of_a_huge_version_is_a_gap_that_is_found_at_once(
    table: Path, version: int
) -> None:
    (table / commit_path(version)).write_text("{}")

    def opens() -> None:
        with pytest.raises(
            LogCorruptedError, match=r"missing commit\(s\) \[1, 2, 3, .*10, \.\.\.\]"
        ):
            lakebed.open(table)

    assert instructions(opens) < MOST_INSTRUCTIONS
    with pytest.raises(LakebedError):
        newer_commits(CountingStore(open_store(str(table)), cheap_probes=False), 0)


def test_a_gap_below_many_commits_is_found_by_looking_at_them_once() -> None:
    def build(count: int) -> int:
        files = [LogFile(commit_path(each), "commit", each) for each in range(5, count)]

        def work() -> None:
            with pytest.raises(LogCorruptedError, match=r"\[0, 1, 2, 3, 4\]"):
                build_segment(files)

        return instructions(work)

    few, many = build(100), build(400)
    assert many < 5 * few


@pytest.mark.parametrize("kind", ["large", "device", "pipe"])
def test_a_hint_without_an_end_is_ignored(table: Path, kind: str) -> None:
    hint = table / LAST_CHECKPOINT
    if kind == "large":
        hint.write_text(json.dumps({"version": 0, "size": 1, "x": "a" * HINT_BYTES}))
    elif kind == "device":
        hint.symlink_to("/dev/zero")
    else:
        os.mkfifo(hint)
    store = CountingStore(open_store(str(table)))
    assert read_hint(store) is None
    assert store.bytes_read <= HINT_BYTES + 1
    assert latest_segment(store).version == 0
    assert lakebed.open(table).to_arrow().num_rows == 3


def test_pipes_and_devices_in_the_place_of_files_are_errors(table: Path) -> None:
    store = open_store(str(table))
    os.mkfifo(table / "pipe")
    (table / "device").symlink_to("/dev/zero")
    for name in ("pipe", "device"):
        for read in (
            lambda name: store.get(name),
            lambda name: store.get_many([name]),
            lambda name: store.get_range(name, 0, 10),
            lambda name: store.open_input(name),
        ):
            with pytest.raises(LakebedError, match="there is no object"):
                read(name)


def test_a_range_far_beyond_the_end_of_a_file_takes_no_room(table: Path) -> None:
    store = open_store(str(table))
    (table / "small").write_bytes(b"abcdef")
    assert store.get_range("small", 4, 2**62) == b"ef"
    assert store.get_range("small", 9, 2**62) == b""
