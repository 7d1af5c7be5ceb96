"""import-linter guards the rooms: these tests show that its contracts would catch a breach."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def package(tmp_path: Path) -> Path:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    ignored = shutil.ignore_patterns("__pycache__")
    return Path(shutil.copytree(ROOT / "src" / "lakebed", tmp_path / "lakebed", ignore=ignored))


def test_the_source_keeps_every_contract(package: Path) -> None:
    assert _broken_contracts(package) == []


@pytest.mark.parametrize(
    ("room", "line", "broken"),
    [
        ("spec", "import lakebed.log", "Rooms import only downward"),
        ("formats", "import lakebed.storage", "Rooms import only downward"),
        ("log", "import pyspark.sql", "The control plane and the Arrow plane never import Spark"),
        ("spec", "import obstore", "The protocol's rules do no I/O"),
    ],
)
def test_an_import_that_a_room_must_not_have_is_found(
    package: Path, room: str, line: str, broken: str
) -> None:
    (package / room / "intruder.py").write_text(f"{line}\n")
    assert broken in _broken_contracts(package)


def test_a_room_that_nobody_placed_is_found(package: Path) -> None:
    (package / "attic").mkdir()
    (package / "attic" / "__init__.py").touch()
    assert _broken_contracts(package) == ["Rooms import only downward"]


def test_two_modules_that_import_each_other_are_found(package: Path) -> None:
    (package / "spec" / "one.py").write_text("import lakebed.spec.other\n")
    (package / "spec" / "other.py").write_text("import lakebed.spec.one\n")
    broken = "No two modules or packages import each other in a circle"
    assert broken in _broken_contracts(package)


def _broken_contracts(package: Path) -> list[str]:
    code = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    done = subprocess.run(
        [sys.executable, "-c", code, "--no-cache"],
        cwd=package.parent,
        env={"PYTHONPATH": str(package.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stdout.splitlines()
    assert any(line.startswith("Contracts: ") for line in lines), done.stdout + done.stderr
    return [line.partition(" BROKEN")[0] for line in lines if " BROKEN" in line]


def test_internals_of_spark_are_touched_in_one_place_only() -> None:
    internal = re.compile(
        r"\._jdf\b|_jsparkSession|\._jc\b|import py4j|from py4j|pyspark\.java_gateway"
    )
    package = ROOT / "src" / "lakebed"
    found = {
        file.relative_to(package).parts[:2]
        for file in package.rglob("*.py")
        if internal.search(file.read_text(encoding="utf-8"))
    }
    assert {parts[:2] for parts in found} == {("spark", "internals")}
