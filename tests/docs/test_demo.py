"""The demo runs as `./run demo` runs it, and shows what it promises."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "examples" / "demo.py"


def _demo(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", str(DEMO), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_demo_shows_skipping_history_and_time_travel(tmp_path: Path) -> None:
    done = _demo(str(tmp_path / "demo"))
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    skipped = re.search(r"reads (\d+) of (\d+) files", done.stdout)
    assert skipped is not None
    read, total = map(int, skipped.groups())
    assert 0 < read < total
    for operation in ("CREATE TABLE AS SELECT", "WRITE"):
        assert operation in done.stdout
    assert "Every reader sees the same table" in done.stdout


def test_the_demo_leaves_the_table_it_made(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    assert _demo(str(folder)).returncode == 0
    assert (folder / "orders" / "_delta_log" / "00000000000000000000.json").is_file()


def test_the_demo_does_not_write_into_a_folder_that_has_one_already(tmp_path: Path) -> None:
    (tmp_path / "orders").mkdir()
    done = _demo(str(tmp_path))
    assert done.returncode == 1
    assert "already" in done.stderr
    assert "Traceback" not in done.stderr
