"""A Spark Connect server in a process of its own, which ends when its standard input closes."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def running_connect_server() -> Iterator[str]:
    """The address of a server, as `lakebed.session(remote=...)` takes it."""
    command = [sys.executable, str(Path(__file__).resolve())]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        assert port, f"the Spark Connect server did not start; it ended with {process.wait()}"
        try:
            yield f"sc://127.0.0.1:{int(port)}"
        finally:
            process.stdin.close()


def serve() -> None:
    from pyspark.sql import SparkSession

    port = _free_port()
    warehouse = tempfile.mkdtemp()
    builder = SparkSession.builder.master("local[2]")
    settings = {
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": warehouse,
        # Most statements run once: to interpret them is faster than to compile them.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    print(port, flush=True)
    sys.stdin.read()
    spark.stop()
    shutil.rmtree(warehouse)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    serve()
