"""Tasks of the workers plane that fail never lose or duplicate a row."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from made_tables import data_files, log_files, read_elsewhere
from standalone_cluster import environ

import lakebed

APPLICATION = Path(__file__).parent / "failing_application.py"
BEFORE = list(range(10_000, 10_010))

pytestmark = pytest.mark.slow


def test_attempts_that_fail_leave_no_rows_behind(
    java: None,  # noqa: ARG001
    tmp_path: Path,
) -> None:
    scenarios = ("fails_once", "fails_for_good")
    for name in scenarios:
        lakebed.write(tmp_path / name, pa.table({"id": pa.array(BEFORE, pa.int64())}))
    done = run_on_workers(str(tmp_path), *scenarios)
    assert done.returncode == 0, done.stderr[-5000:]
    errors = json.loads(done.stdout.splitlines()[-1])

    once = tmp_path / "fails_once"
    assert errors["fails_once"] is None
    assert {mark.name for mark in (tmp_path / "marks").glob("fails_once-*")} >= {
        "fails_once-0-0",
        "fails_once-2-0",
    }
    assert log_files(once) == [f"{version:020}.json" for version in (0, 1)]
    assert sorted(read_elsewhere(once)["id"].to_pylist()) == [*range(1000), *BEFORE]
    # What failed attempts had written is there, and no commit names it.
    assert len(data_files(once)) > lakebed.open(once).num_files

    for_good = tmp_path / "fails_for_good"
    assert errors["fails_for_good"] is not None
    assert not errors["fails_for_good"].startswith("Py4J")
    assert log_files(for_good) == [f"{0:020}.json"]
    assert sorted(read_elsewhere(for_good)["id"].to_pylist()) == BEFORE


def run_on_workers(*arguments: str) -> subprocess.CompletedProcess[str]:
    plane = "--conf spark.lakebed.dataPlane=workers pyspark-shell"
    return subprocess.run(
        # The second number is how often a task may be tried.
        [sys.executable, str(APPLICATION), "local[2,4]", *arguments],
        env={**environ(), "PYSPARK_SUBMIT_ARGS": plane},
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
