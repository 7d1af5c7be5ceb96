"""Spark's own reader and writer on S3, by Hadoop's connector from Maven Central."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from real_servers import FOLDER, RealServer, versitygw

SCRIPT = Path(__file__).with_name("native_application.py")


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    with versitygw(tmp_path_factory.mktemp("gateway")) as server:
        yield server


@pytest.mark.slow("a Spark of its own, with the classes of hadoop-aws")
def test_tables_on_s3_are_read_and_written_by_spark_itself(
    java: None,  # noqa: ARG001
    gateway: RealServer,
) -> None:
    ivy = FOLDER / "ivy"
    if not list(ivy.glob("jars/org.apache.hadoop_hadoop-aws-*.jar")):
        pytest.skip("hadoop-aws is not there: ./run test --stores downloads it (700 MB)")
    options = json.dumps(dict(gateway.storage_options))
    command = [sys.executable, str(SCRIPT), str(ivy), options]
    command += [gateway.new_bucket(), gateway.new_bucket()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.splitlines() == [
        "wrong credentials are refused",
        "Hadoop was refused too",
        "options are enough for both planes",
        "any scheme",
        "changes of rows",
        "settings of the session, in SQL",
    ]
