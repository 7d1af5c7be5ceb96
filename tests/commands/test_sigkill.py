"""SIGKILL in the midst of a VACUUM and of a deep clone: nothing is lost, and it can be finished."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import lakebed
from testkit.tables.numbered_tables import ids, ids_by_duckdb, numbers

FILES = 40
# Every change of the store takes a moment, so that a process can be met in the midst of its work.
SLOW = """
import sys, time, lakebed
from lakebed.storage.local import LocalStore
def slow(method):
    def run(*given):
        time.sleep(0.05)
        return method(*given)
    return run
LocalStore.delete = slow(LocalStore.delete)
import lakebed.commands.clone.cloned_files as files
files.copy_object = slow(files.copy_object)
path, target = sys.argv[1:]
"""
VACUUM = "lakebed.open(path).vacuum(0, enforce_retention=False)"
CLONE = "lakebed.open(path).clone(target)"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Version 0 has many files, version 1 a few."""
    path = tmp_path / "table"
    lakebed.write(path, numbers(0, 2 * FILES), max_rows_per_file=2)
    lakebed.write(path, numbers(0, 6), mode="overwrite", max_rows_per_file=2)
    for file in path.glob("*.parquet"):
        os.utime(file, (1, 1))
    return path


def killed(code: str, table: Path, target: Path, is_amidst: Callable[[], bool]) -> None:
    command = [sys.executable, "-c", SLOW + code, str(table), str(target)]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        try:
            deadline = time.monotonic() + 60
            while not is_amidst():
                assert process.poll() is None, process.stderr and process.stderr.read()
                assert time.monotonic() < deadline
                time.sleep(0.001)
        finally:
            process.kill()


def count(folder: Path) -> int:
    return sum(1 for _ in folder.glob("*.parquet"))


def test_vacuum(table: Path, tmp_path: Path) -> None:
    killed(VACUUM, table, tmp_path / "none", lambda: count(table) < FILES)
    assert count(table) > 3
    assert ids(table) == ids_by_duckdb(table) == list(range(6))
    done = lakebed.open(table).vacuum(0, enforce_retention=False)
    assert done.num_files >= 1
    assert count(table) == 3
    assert ids(table) == ids_by_duckdb(table) == list(range(6))
    readable = lakebed.open(table).history(readable=True).to_pylist()
    assert {row["version"] for row in readable if not row["readable"]} == {0}


def test_deep_clone(table: Path, tmp_path: Path) -> None:
    target = tmp_path / "clone"
    lakebed.open(table).restore(version=0)
    killed(CLONE, table, target, lambda: count(target) > 5)
    assert count(target) < FILES
    assert not lakebed.is_delta_table(target)
    lakebed.open(table).clone(target)
    assert ids(target) == ids_by_duckdb(target) == list(range(2 * FILES))
    assert ids(table) == list(range(2 * FILES))
