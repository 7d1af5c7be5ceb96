"""Attempts of tasks that fail, die, are repeated or run twice never lose or duplicate a row."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from deltalake import DeltaTable

import lakebed
from testkit.readers.log_json import data_files, log_files
from testkit.readers.other_readers import read_elsewhere
from testkit.servers.standalone_cluster import environ, run_application, standalone_cluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

APPLICATION = Path(__file__).parent / "failing_application.py"
SURVIVED = ("fails_once", "straggles", "loses_its_executor")
BEFORE = list(range(10_000, 10_010))

pytestmark = pytest.mark.slow("applications of their own, which lose tasks and executors")


class Run:
    """What an application left: its tables, the marks of its tasks, the errors of its writes."""

    def __init__(self, folder: Path, errors: dict[str, str | None]) -> None:
        self.folder = folder
        self.errors = errors

    def attempts(self, scenario: str) -> set[tuple[int, int]]:
        marks = (self.folder / "marks").glob(f"{scenario}-*")
        return {
            (int(part), int(attempt)) for _, part, attempt in (m.name.split("-") for m in marks)
        }


@pytest.fixture(scope="module")
def run(java: None, tmp_path_factory: pytest.TempPathFactory) -> Run:  # noqa: ARG001
    """All scenarios on one cluster whose workers have two names: Spark speculates on another host
    than the one on which a task is slow already."""
    folder = tmp_path_factory.mktemp("failures")
    scenarios = (*SURVIVED, "fails_for_good")
    for name in scenarios:
        _make(folder / name)
    with standalone_cluster(folder / "cluster") as master:
        done = run_application(APPLICATION, master, str(folder), *scenarios)
    assert done.returncode == 0, done.stderr[-5000:]
    return Run(folder, json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    ("scenario", "attempts"),
    [
        ("fails_once", {(0, 0), (2, 0)}),
        ("loses_its_executor", {(0, 0)}),
        ("straggles", {(0, 0), (0, 1)}),
    ],
)
def test_a_write_whose_tasks_are_repeated_has_every_row_once(
    run: Run, scenario: str, attempts: set[tuple[int, int]]
) -> None:
    path = run.folder / scenario
    assert run.errors[scenario] is None
    assert run.attempts(scenario) >= attempts
    assert log_files(path) == [f"{version:020}.json" for version in (0, 1)]
    assert _ids(path) == [*range(1000), *BEFORE]


@pytest.mark.parametrize("scenario", SURVIVED)
def test_only_files_of_attempts_that_count_are_in_the_log(run: Run, scenario: str) -> None:
    files = lakebed.open(run.folder / scenario).files(stats=True).to_pylist()
    counted = sum(json.loads(file["stats"])["numRecords"] for file in files)
    assert counted == 1010
    assert len({file["path"] for file in files}) == len(files)


def test_files_that_a_dead_executor_left_are_not_in_the_log_and_vacuum_removes_them(
    run: Run,
) -> None:
    path = run.folder / "loses_its_executor"
    files = sorted(lakebed.open(path).files()["path"].to_pylist())
    assert set(data_files(path)) > set(files)
    lakebed.open(path).vacuum(0, enforce_retention=False)
    assert data_files(path) == files
    assert _ids(path) == [*range(1000), *BEFORE]


def test_attempts_that_fail_delete_what_they_wrote(run: Run) -> None:
    path = run.folder / "fails_once"
    assert data_files(path) == sorted(lakebed.open(path).files()["path"].to_pylist())


@pytest.mark.parametrize("scenario", [*SURVIVED, "fails_for_good"])
def test_no_write_makes_folders_or_anything_but_data_files(run: Run, scenario: str) -> None:
    found = {each.name for each in (run.folder / scenario).iterdir()}
    assert {name for name in found if not re.fullmatch(r"part-.*\.parquet", name)} == {"_delta_log"}


def test_a_write_that_fails_for_good_leaves_the_table_as_it_was(run: Run) -> None:
    path = run.folder / "fails_for_good"
    assert len(run.attempts("fails_for_good")) == 4
    # The error of the task's own function, as far as Spark tells it from others.
    assert run.errors["fails_for_good"] in ("PythonException", "JobFailedError")
    assert log_files(path) == [f"{0:020}.json"]
    assert _ids(path) == BEFORE


def test_a_write_that_is_killed_leaves_the_table_as_it_was_and_the_next_one_is_fine(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "hangs"
    _make(path)
    with _application("local[2]", str(tmp_path), "hangs"):
        _wait_for(lambda: len(list((tmp_path / "marks").glob("*"))) == 2)
        _wait_for(lambda: len(list(path.rglob("*.parquet"))) > 1)
    assert log_files(path) == [f"{0:020}.json"]
    assert _ids(path) == BEFORE
    spark.range(5).write.format("delta").mode("append").save(str(path))
    assert DeltaTable(str(path)).version() == 1
    assert _ids(path) == [*range(5), *BEFORE]


@contextmanager
def _application(*arguments: str) -> Iterator[None]:
    """Runs beside the test, and is killed at its end: driver, JVM and Python workers at once."""
    process = subprocess.Popen(
        [sys.executable, str(APPLICATION), *arguments],
        env=environ(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield
        assert process.poll() is None
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _wait_for(condition: Callable[[], bool], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _make(path: Path) -> None:
    lakebed.write(path, pa.table({"id": pa.array(BEFORE, pa.int64())}))


def _ids(path: Path) -> list[int]:
    return sorted(read_elsewhere(path)["id"].to_pylist())
