"""Processes that decode small files: the same rows, whatever becomes of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakebed
from lakebed.arrow.small_files import many_files, reading_processes
from lakebed.arrow.small_files.reading_processes import Readers, lent
from lakebed.commands.optimize import local_rewrite as local
from lakebed.commands.optimize.file_selection import by_partition
from lakebed.commands.optimize.local_rewrite import Local
from lakebed.errors import DataFileError, JobFailedError
from lakebed.formats.file_actions import adds_from_table
from lakebed.log.file_state import ADD_FIELDS
from lakebed.spec.actions import Add
from lakebed.spec.paths import decode_path
from testkit.readers.other_readers import duckdb_with_delta

NAMES = {"delta.columnMapping.mode": "name", "delta.enableDeletionVectors": "true"}
IDS = {"delta.columnMapping.mode": "id", "delta.enableRowTracking": "true"}


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Two processes, for any number of files, two at a time."""
    monkeypatch.setattr(local, "MIN_FILES", 1)
    monkeypatch.setattr(many_files, "_CHUNK_FILES", 2)
    monkeypatch.setattr(reading_processes, "_num_processors", lambda: 2)
    yield
    reading_processes.end_all()


def started() -> Readers:
    with lent() as readers:
        assert readers is not None
        assert readers.await_all(60)
    return readers


def make(path: Path, files: int = 9, **properties: str) -> list[str]:
    """The rows as DuckDB sees them; one is deleted, and the columns are not the same in all."""
    for number in range(files):
        rows = pa.table(
            {
                "id": pa.array(range(number * 10, number * 10 + 10), pa.int32()),
                "part": [["a", "b c", None][i % 3] for i in range(10)],
                "at": pa.array(range(10), pa.timestamp("us", "UTC")),
                "tags": [[f"t{i}", None] for i in range(10)],
            }
        )
        if number > 5:
            rows = rows.append_column("more", pa.array([None, *range(9)], pa.int32()))
        first: dict[str, Any] = {"properties": properties, "partition_by": "part"}
        more = {} if number else first
        lakebed.write(path, rows, mode="append", merge_schema=True, **more)
    lakebed.write(path, rows.slice(0, 0), mode="overwrite", replace_where="id = 14")
    return rows_of(path)


def rows_of(path: Path) -> list[str]:
    with duckdb_with_delta() as connection:
        found = connection.execute(f"select * from delta_scan('{path}')").to_arrow_table()
    return sorted(map(repr, found.to_pylist()))


def compact(path: Path) -> list[Add] | None:
    snapshot = lakebed.open(path).snapshot
    bins = by_partition(adds_from_table(snapshot.files(ADD_FIELDS)))
    return Local(snapshot, 1 << 30, 1 << 30, {}).compact(bins)


def rows_in(path: Path, adds: list[Add] | None) -> list[list[Any]]:
    assert adds is not None
    tables = [pq.ParquetFile(path / decode_path(add.path)).read() for add in adds]
    return [sorted(map(repr, table.to_pylist())) for table in tables]


@pytest.mark.parametrize("properties", [{}, NAMES, IDS], ids=["plain", "names", "ids"])
def test_processes_give_the_rows_that_this_one_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, properties: dict[str, str]
) -> None:
    make(tmp_path, **properties)
    started()
    # Nothing is decoded here.
    with monkeypatch.context() as patched:
        patched.setattr(many_files, "decode", None)
        found = compact(tmp_path)
    monkeypatch.setattr(local, "MIN_FILES", 1 << 30)
    here = compact(tmp_path)
    assert rows_in(tmp_path, found) == rows_in(tmp_path, here)
    assert [add.stats for add in found or ()] == [add.stats for add in here or ()]
    assert sum(map(len, rows_in(tmp_path, found))) == 89


def test_while_processes_start_this_one_decodes(tmp_path: Path) -> None:
    make(tmp_path)
    assert sum(map(len, rows_in(tmp_path, compact(tmp_path)))) == 89


@pytest.mark.parametrize("program", ["/nowhere/python", "/bin/false", ""])
def test_where_none_can_be_started_this_one_decodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    monkeypatch.setattr(sys, "executable", program)
    make(tmp_path)
    for _ in range(2):
        assert sum(map(len, rows_in(tmp_path, compact(tmp_path)))) == 89
    assert started().pids == []


def test_a_process_that_is_killed_midway_is_an_error_and_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, files = make(tmp_path), sorted(tmp_path.rglob("*"))
    decoded, calls = reading_processes._Process.decoded, []

    def killed(process: Any, *given: Any) -> Any:
        calls.append(process.pid)
        if len(calls) == 3:
            os.kill(process.pid, signal.SIGKILL)
        return decoded(process, *given)

    started()
    with monkeypatch.context() as patched:
        patched.setattr(reading_processes._Process, "decoded", killed)
        with pytest.raises(JobFailedError, match="signal 9; nothing was committed"):
            compact(tmp_path)
    assert sorted(tmp_path.rglob("*")) == files
    assert rows_of(tmp_path) == before
    assert calls[2] not in started().pids
    assert sum(map(len, rows_in(tmp_path, compact(tmp_path)))) == 89


def test_those_that_died_meanwhile_are_started_again(tmp_path: Path) -> None:
    make(tmp_path)
    dead = started().pids
    for pid in dead:
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert sum(map(len, rows_in(tmp_path, compact(tmp_path)))) == 89
    assert len(started().pids) == 2
    assert not set(started().pids) & set(dead)


def test_what_a_process_cannot_read_is_judged_here(tmp_path: Path) -> None:
    make(tmp_path)
    started()
    [path, *_] = lakebed.open(tmp_path).files()["path"].to_pylist()
    file = tmp_path / decode_path(path)
    kept = file.read_bytes()
    old = pq.ParquetFile(file).read().replace_schema_metadata({"org.apache.spark.version": "2.4.5"})
    pq.write_table(old, file)
    assert compact(tmp_path) is None
    file.write_bytes(kept[: len(kept) // 2])
    assert compact(tmp_path) is None
    file.unlink()
    with pytest.raises(DataFileError, match="gone"):
        compact(tmp_path)
    file.write_bytes(kept)
    assert sum(map(len, rows_in(tmp_path, compact(tmp_path)))) == 89
    assert len(started().pids) == 2, "an answer that is no table ends no process"


def test_one_run_at_a_time_has_them() -> None:
    with lent() as first, lent() as second:
        assert first is not None
        assert second is None


def test_idle_ones_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading_processes, "_IDLE_SECONDS", 0.05)
    readers = started()
    end = time.monotonic() + 30
    while readers.pids and time.monotonic() < end:
        time.sleep(0.02)
    assert readers.pids == []


SCRIPT = """
import os, sys, time
import lakebed
from lakebed.arrow.small_files import many_files, reading_processes
from lakebed.commands.optimize import local_rewrite as local
from lakebed.commands.optimize.file_selection import by_partition
from lakebed.formats.file_actions import adds_from_table
from lakebed.log.file_state import ADD_FIELDS

local.MIN_FILES = 1
reading_processes._num_processors = lambda: 2
with reading_processes.lent() as readers:
    assert readers.await_all(60)
if not os.fork():
    sys.exit()  # with all that runs at the end of a process
os.wait()
snapshot = lakebed.open(sys.argv[1]).snapshot
bins = by_partition(adds_from_table(snapshot.files(ADD_FIELDS)))
many_files.decode = None
print(len(local.Local(snapshot, 1 << 30, 1 << 30, {}).compact(bins)))
print(*readers.pids)
"""


def test_a_script_needs_no_guard_and_leaves_no_process(tmp_path: Path) -> None:
    """One that forks too: the child leaves the processes of its parent alone."""
    make(tmp_path / "t", 3)
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    ran = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "t")],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    num_files, pids = ran.stdout.splitlines()
    assert (num_files, len(pids.split())) == ("3", 2)
    assert not [pid for pid in pids.split() if Path(f"/proc/{pid}").exists()]
