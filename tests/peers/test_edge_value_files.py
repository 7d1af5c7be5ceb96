"""Files of every writer of Lakebed with NaN, -0.0, infinities and their like, read by delta-spark.

`testkit.edges` has the values, the filters and the other readers.
"""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
from pathlib import Path

import pytest
from edge_value_reader import NO_SESSION

from peer_process import SPARK, delta_spark_package
from testkit.edges.edge_writers import WRITERS

PROGRAM = Path(__file__).with_name("edge_value_reader.py")
if not importlib.metadata.version("pyspark").startswith(f"{SPARK}."):
    pytest.skip(f"delta-spark has a JAR for Spark {SPARK}", allow_module_level=True)


@pytest.fixture(scope="module")
def lost(spark, tmp_path_factory) -> dict[str, list[str]]:
    """For each table, the filters with which delta-spark does not find all rows."""
    folder = tmp_path_factory.mktemp("tables")
    for name, write in WRITERS.items():
        write(spark, folder / name)
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(folder), delta_spark_package()],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == NO_SESSION:
        pytest.skip(f"delta-spark did not start: {done.stderr[-500:]}")
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, list[str]] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("writer", WRITERS)
def test_delta_spark_finds_every_row(writer, lost):
    assert lost[writer] == []
