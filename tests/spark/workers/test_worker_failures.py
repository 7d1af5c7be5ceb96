"""Tasks of the workers plane that fail never lose or duplicate a row."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import lakebed
from testkit.readers.log_json import data_files, log_files
from testkit.readers.other_readers import read_elsewhere
from testkit.servers.standalone_cluster import run_application

APPLICATION = Path(__file__).parent / "failing_worker_application.py"
BEFORE = list(range(10_000, 10_010))

pytestmark = pytest.mark.slow("an application of its own, whose tasks are repeated")


def test_attempts_that_fail_leave_files_that_no_commit_names(
    java: None,  # noqa: ARG001
    tmp_path: Path,
) -> None:
    once, for_good = tmp_path / "fails_once", tmp_path / "fails_for_good"
    for path in (once, for_good):
        lakebed.write(path, pa.table({"id": pa.array(BEFORE, pa.int64())}))
    done = run_application(APPLICATION, str(tmp_path), seconds=300)
    assert done.returncode == 0, done.stderr[-5000:]
    errors = json.loads(done.stdout.splitlines()[-1])

    assert errors["fails_once"] is None
    assert log_files(once) == [f"{version:020}.json" for version in (0, 1)]
    assert ids(once) == [*range(400), *BEFORE]
    assert len(data_files(once)) > lakebed.open(once).num_files == 41

    assert errors["fails_for_good"] is not None
    assert not errors["fails_for_good"].startswith("Py4J")
    assert log_files(for_good) == [f"{0:020}.json"]
    assert ids(for_good) == BEFORE
    assert len(data_files(for_good)) > 1


def ids(path: Path) -> list[int]:
    return sorted(read_elsewhere(path)["id"].to_pylist())
