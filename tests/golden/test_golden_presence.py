"""Golden tables that are announced must be there: nothing is skipped because a copy failed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from testkit.tables.golden_tables import NONE, golden_entries, missing, needs_golden

FEWEST = 150


@needs_golden
def test_every_golden_table_is_there() -> None:
    assert missing() == []
    assert len(golden_entries()) >= FEWEST


@pytest.mark.parametrize("catalogue", [None, {"tables": [{"path": "tables/a"}]}], ids=str)
def test_announced_tables_that_are_missing_fail(
    tmp_path: Path, catalogue: dict[str, object] | None
) -> None:
    (tmp_path / "README.md").touch()
    if catalogue is not None:
        (tmp_path / "expected.json").write_text(json.dumps(catalogue))
    done = _run(tmp_path)
    assert done.returncode == 1
    assert ("expected.json" if catalogue is None else "tables/a") in done.stdout


def test_a_run_without_them_says_so_at_its_end() -> None:
    done = _run(NONE)
    assert done.returncode == 0, done.stdout
    assert "1 test was skipped: there are no golden tables at none" in done.stdout


def _run(golden: Path | str) -> subprocess.CompletedProcess[str]:
    """The test of their presence, in a process of its own."""
    test = f"{__file__}::{test_every_golden_table_is_there.__name__}"
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", test],
        env={**os.environ, "LAKEBED_GOLDEN": str(golden)},
        capture_output=True,
        text=True,
        check=False,
    )
