"""Names in a Hive metastore, which sessions of different processes share."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).with_name("hive_application.py")


def run(folder: Path, part: str) -> Any:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(folder), part],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow("two Sparks, one after the other, each with a metastore")
def test_tables_of_one_process_are_read_changed_and_dropped_by_another(
    java: None,  # noqa: ARG001
    tmp_path: Path,
) -> None:
    kinds = {
        "made": "MANAGED",
        "ext": "EXTERNAL",
        "saved": "MANAGED",
        "out": "EXTERNAL",
        "seen": "VIEW",
    }
    assert run(tmp_path, "first") == {"kinds": kinds}
    found = run(tmp_path, "second")
    assert found == {
        "kinds": kinds,
        "made": [
            "(1, datetime.date(2026, 1, 31), None)",
            "(2, datetime.date(2026, 2, 1), 'x')",
        ],
        "stored": 5,
        "seen": 2,
        "columns": [["Id", False], ["day", True], ["note", False]],
        "left": ["seen"],
        "back": 2,
        "ext": 1,
        "out": 2,
    }
    assert not list((tmp_path / "s hop").glob("made*"))
    assert not (tmp_path / "s hop" / "stored").exists()
