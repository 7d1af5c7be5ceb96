"""The demo runs as `./run demo` runs it, and shows what it promises."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "examples" / "demo.py"


def _demo(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", str(DEMO), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


# --- on Spark ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shown(
    java: None,  # noqa: ARG001
    tmp_path_factory: pytest.TempPathFactory,
) -> str:
    done = _demo(str(tmp_path_factory.mktemp("lakehouse")))
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_the_demo_ingests_and_reads_only_the_files_it_needs(shown: str) -> None:
    days = re.findall(r"^2026-01-0\d: (\S+) orders", shown, re.MULTILINE)
    assert days == ["100,000"] * 3
    skipped = re.search(r"(\d+) of (\d+) read$", shown, re.MULTILINE)
    assert skipped is not None
    needed, everything = map(int, skipped.groups())
    assert 0 < needed < everything / 3
    assert "pruned by partition" in shown
    assert "skipped by statistics" in shown


def test_the_demo_merges_figures_that_came_late(shown: str) -> None:
    found = re.findall(r"^(\w+) +(?:Ada|Katherine) +(\S+) +(\S+)$", shown, re.MULTILINE)
    north = sum(number % 97 + 1 for number in range(0, 300_000, 3))
    before, *after = found
    assert before == ("north", f"{north:,}", "100,000")
    assert after == [("east", "500", "1"), ("north", f"{north + 1000:,}", "100,000")]


def test_the_demo_refuses_data_that_does_not_fit(shown: str) -> None:
    assert "SCHEMA_MISMATCH" in shown
    assert "Traceback" not in shown


def test_the_demo_travels_in_time_and_repairs_a_mistake(shown: str) -> None:
    versions = re.findall(r"^ +(\d)  +(\S+)$", shown, re.MULTILINE)
    assert versions == [("0", "100,000"), ("1", "200,000"), ("2", "300,000"), ("3", "5")]
    history = re.findall(r"^ +(\d)  .*  WRITE +(\w+) +(\S+)$", shown, re.MULTILINE)
    assert history == [
        ("4", "Overwrite", "300,000"),
        ("3", "Overwrite", "5"),
        ("2", "Append", "100,000"),
        ("1", "Append", "100,000"),
        ("0", "Append", "100,000"),
    ]


def test_the_demo_shows_that_other_readers_see_the_same_table(shown: str) -> None:
    answers = _answers(shown)
    names = ["Lakebed on Spark", "Lakebed on Arrow", "delta-rs", "DuckDB"]
    total = sum(number % 97 + 1 for number in range(300_000))
    assert answers == [(name, "300,000", f"{total:,}") for name in names]


def test_the_demo_streams_every_complete_order_into_silver_and_the_newest_into_gold(
    shown: str,
) -> None:
    assert re.findall(r"^(bronze|silver) +(\S+)$", shown, re.MULTILINE) == [
        ("bronze", "1,200"),
        ("silver", "1,080"),
    ]
    newest = {"Ada": 4_599, "Grace": 4_597, "Mary": 4_598}
    found = re.findall(r"^(Ada|Grace|Mary) +(\S+) +(\S+)$", shown, re.MULTILINE)
    assert found == [(name, f"{n:,}", str(n % 50)) for name, n in newest.items()]
    assert re.findall(r"^(\w+): version 1, 0 files behind$", shown, re.MULTILINE) == [
        "silver",
        "gold",
    ]


# --- without Spark -----------------------------------------------------------------------------


def test_without_spark_the_demo_shows_skipping_and_time_travel(tmp_path: Path) -> None:
    done = _demo("--no-spark", str(tmp_path / "demo"))
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "reads 1 of 9 files" in done.stdout
    assert re.findall(r"^ +\d +(\d+)$", done.stdout, re.MULTILINE) == ["300", "600", "900", "5"]
    names = ["Lakebed on Arrow", "delta-rs", "DuckDB"]
    assert _answers(done.stdout) == [(name, "5", "100") for name in names]
    assert (tmp_path / "demo" / "orders" / "_delta_log" / f"{0:020}.json").is_file()


def test_the_demo_without_spark_needs_no_pyspark(tmp_path: Path) -> None:
    code = "import sys, runpy; sys.modules['pyspark'] = None; sys.argv = sys.argv[1:]"
    code += "; sys.path.insert(0, sys.argv[0][:-8]); runpy.run_path(sys.argv[0], {}, '__main__')"
    command = [sys.executable, "-c", code, str(DEMO), "--no-spark", str(tmp_path)]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_the_demo_does_not_write_into_a_folder_that_has_one_already(tmp_path: Path) -> None:
    (tmp_path / "orders").mkdir()
    done = _demo(str(tmp_path))
    assert done.returncode == 1
    assert "already" in done.stderr
    assert "Traceback" not in done.stderr


def _answers(shown: str) -> list[tuple[str, str, str]]:
    pattern = r"^(Lakebed on \w+|delta-rs|DuckDB) +(\S+) +(\S+)$"
    return [match.groups() for match in re.finditer(pattern, shown, re.MULTILINE)]
