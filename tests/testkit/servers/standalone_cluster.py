"""A standalone cluster on this machine, from the pyspark package: a master and two workers."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyspark

HOST = "127.0.0.1"
# Names of this machine: to Spark each is a host of its own.
NAMES = (HOST, "localhost")
SPARK_HOME = Path(pyspark.__file__).parent
SECONDS = 60


@contextlib.contextmanager
def standalone_cluster(folder: Path) -> Iterator[str]:
    """The URL of the master. Every process is gone afterwards, executors too."""
    port = _free_port()
    url = f"spark://{HOST}:{port}"
    with contextlib.ExitStack() as stack:
        master = ["master.Master", "--host", HOST, "--port", str(port), "--webui-port", "0"]
        stack.enter_context(_daemon(folder, "master", master))
        _wait_for(port)
        for name in NAMES:
            place = folder / f"worker-{name}"
            limits = ["--cores", "1", "--memory", "1g", "--webui-port", "0"]
            worker = ["worker.Worker", "--host", name, *limits, "--work-dir", str(place), url]
            stack.enter_context(_daemon(folder, place.name, worker))
        yield url


def run_application(
    script: Path, *arguments: str, seconds: int = 400
) -> subprocess.CompletedProcess[str]:
    """Runs in a process of its own: the session of the tests goes on beside it."""
    return subprocess.run(
        [sys.executable, str(script), *arguments],
        env=environ(),
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
    )


def environ() -> dict[str, str]:
    """What a process of Spark needs to find itself, and nothing of the session of the tests."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("SPARK_", "PYSPARK_"))
    }
    return {
        **inherited,
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_LOCAL_IP": HOST,
        "SPARK_DAEMON_MEMORY": "256m",
        "PYSPARK_PYTHON": sys.executable,
    }


@contextlib.contextmanager
def _daemon(folder: Path, name: str, arguments: list[str]) -> Iterator[None]:
    command = [str(SPARK_HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{arguments[0]}"]
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{name}.log").open("wb") as log:
        # A session of its own, so that a worker's executors can be ended together with it.
        process = subprocess.Popen(
            [*command, *arguments[1:]],
            env=environ(),
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            socket.create_connection((HOST, port), timeout=1).close()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return
