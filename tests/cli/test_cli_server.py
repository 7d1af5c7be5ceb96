"""`lakebed server`, and clients of Spark Connect that do not have Lakebed."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from deltalake import DeltaTable

_START = "import sys; from lakebed.cli.main import main; sys.exit(main(sys.argv[1:]))"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def server(java: None, tmp_path: Path) -> Iterator[str]:  # noqa: ARG001
    """The address."""
    port = _free_port()
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(tmp_path / "warehouse"),
    }
    conf = [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]
    command = [sys.executable, "-c", _START, "server", "--port", str(port), "--master", "local[2]"]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    with subprocess.Popen(
        [*command, *conf], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        assert f"sc://127.0.0.1:{port}" in said, f"the server ended with {process.wait()}"
        yield f"sc://127.0.0.1:{port}"
        process.terminate()
        assert process.wait(60) == 0


def test_plain_clients_read_write_and_stream(server: str, tmp_path: Path) -> None:
    client = Path(__file__).parent / "connect_client.py"
    ran = subprocess.run(
        [sys.executable, str(client), server, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert "all right" in ran.stdout, ran.stderr[-3000:]
    found = DeltaTable(tmp_path / "warehouse" / "t").to_pyarrow_table()
    assert sorted(found.column("id").to_pylist()) == sorted([1, 2, 3, 9, 10, *range(8)])
    assert DeltaTable(tmp_path / "warehouse" / "copied").to_pyarrow_table().num_rows == 5
