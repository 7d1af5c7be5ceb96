"""Every script under `examples` runs; the demo has tests of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
OUTPUTS = {
    "arrow_quickstart": "over 10: [1, 3, 4]\nfirst version: 3 rows\n",
    "spark_quickstart": "over 10: [1, 3, 4]\nfirst version: 3 rows\n",
}


@pytest.mark.parametrize("name", OUTPUTS)
@pytest.mark.usefixtures("java")
def test_the_example_prints_what_it_should(name: str, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", str(EXAMPLES / f"{name}.py"), str(tmp_path / "t")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == OUTPUTS[name]


def test_every_script_is_run_by_some_test() -> None:
    scripts = {file.stem for file in EXAMPLES.glob("*.py") if "__main__" in file.read_text()}
    assert scripts == {*OUTPUTS, "demo", "demo_arrow", "demo_spark"}
