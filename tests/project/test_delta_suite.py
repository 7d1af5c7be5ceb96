"""`./run test --delta-suite`: what it says of tests that pass, fail, skip, or are listed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from delta_suite import FAILED, PASSED, REACHES, SKIPPED, SUITES, Ran, main, print_counts

ROOT = Path(__file__).resolve().parents[2]
_TESTS = """
import unittest
from delta.tables import DeltaTable
from delta.testing.utils import Base

class Some(Base):
    def test_passes(self):
        self.assertEqual(DeltaTable.__module__, "lakebed.tables.delta_table")
        self.assertEqual(self.told, "by the checkout")
    def test_fails(self):
        self.fail("the reason")
    @unittest.skip("as they want")
    def test_skips(self):
        pass
"""
_NAME = f"{SUITES[0]}/test_some.py::Some"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    python = tmp_path / "python" / "delta"
    (python / "tests").mkdir(parents=True)
    (python / "testing").mkdir()
    (python / "tests" / "test_some.py").write_text(_TESTS)
    base = "import unittest\nclass Base(unittest.TestCase):\n    told = 'by the checkout'\n"
    (python / "testing" / "utils.py").write_text(base)
    return tmp_path


def test_a_suite_runs_from_its_checkout_and_every_outcome_is_told(checkout: Path) -> None:
    program = str(ROOT / "tools" / "delta_suite.py")
    done = subprocess.run(
        [sys.executable, program, str(checkout)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert f"FAILED: {_NAME}.test_fails\n    AssertionError: the reason" in done.stdout
    assert f"skipped by itself: {_NAME}.test_skips: as they want" in done.stdout
    assert f"{SUITES[0]}: 1 of 3 pass; 1 fail, 0 of them listed; 1 skip themselves" in done.stdout
    # What is listed is of the real suites.
    assert done.stdout.count("listed, but there is no such test") == len(REACHES)
    only = subprocess.run(
        [sys.executable, program, str(checkout), "-k", "passes"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (only.returncode, only.stdout.count("1 of 1 pass")) == (0, 1)


def test_a_folder_without_the_suites_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path)]) == 2
    assert "delta-io/delta" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("outcome", "listed", "surprises"),
    [
        (PASSED, False, 0),
        (FAILED, True, 0),
        (FAILED, False, 1),
        (PASSED, True, 1),
        (SKIPPED, False, 0),
        (SKIPPED, True, 1),
    ],
)
def test_a_surprise_is_a_failure_that_is_not_listed_or_the_other_way_round(
    outcome: str, listed: bool, surprises: int
) -> None:
    reaches = {"a": "org.example.Class"} if listed else {}
    assert print_counts([Ran("a", outcome)], reaches, of_all=True) == surprises
