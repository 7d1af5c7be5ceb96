"""A build of Spark that has no server of Spark Connect."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

_USE = """
import sys, lakebed
spark = lakebed.session(master="local[1]", spark_ui_enabled=False)
spark.range(3).write.format("delta").save(sys.argv[1])
print("rows:", spark.read.format("delta").load(sys.argv[1]).count())
"""
_SERVE = "import sys; from lakebed.cli.main import main; sys.exit(main(['server', '--port', '0']))"


@pytest.fixture
def environment(java: None, tmp_path: Path) -> dict[str, str]:  # noqa: ARG001
    """Of a Spark whose jars are all but those of Spark Connect."""
    home, whole = tmp_path / "spark", Path(pyspark.__file__).parent
    (home / "jars").mkdir(parents=True)
    (home / "bin").symlink_to(whole / "bin")
    left_out = 0
    for each in (whole / "jars").iterdir():
        if each.name.startswith("spark-connect"):
            left_out += 1
        else:
            (home / "jars" / each.name).symlink_to(each)
    assert left_out
    own = {
        "SPARK_HOME": str(home),
        "LAKEBED_CACHE": str(tmp_path),
        "PYSPARK_PYTHON": sys.executable,
    }
    return {**os.environ, **own}


def test_sessions_are_enabled_and_the_server_says_what_is_missing(
    environment: dict[str, str], tmp_path: Path
) -> None:
    used = _run(_USE, environment, str(tmp_path / "t"))
    assert "rows: 3" in used.stdout, used.stderr[-3000:]
    served = _run(_SERVE, environment)
    assert served.returncode == 1
    assert "UNSUPPORTED_SPARK" in served.stderr
    assert "pip install" in served.stderr


def _run(script: str, environment: dict[str, str], *args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", script, *args]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=200, check=False
    )
