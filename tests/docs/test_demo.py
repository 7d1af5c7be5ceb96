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
    assert skipped.groups() == ("1", "9")
    history = re.findall(r"^ +(\d)  .*  WRITE +(\w+) +(\d+)$", done.stdout, re.MULTILINE)
    assert history == [
        ("3", "Overwrite", "5"),
        ("2", "Append", "300"),
        ("1", "Append", "300"),
        ("0", "Append", "300"),
    ]
    assert re.findall(r"^ +\d +(\d+)$", done.stdout, re.MULTILINE) == ["300", "600", "900", "5"]


def test_the_demo_shows_that_other_readers_see_the_same_table(tmp_path: Path) -> None:
    answers = re.findall(
        r"^(Lakebed|delta-rs|DuckDB) +(\d+) +(\S+)$", _demo(str(tmp_path)).stdout, re.MULTILINE
    )
    assert answers == [(name, "5", "100") for name in ("Lakebed", "delta-rs", "DuckDB")]


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
