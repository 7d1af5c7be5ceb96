"""Processes that are compared with each other: requests and answers as lines of JSON.

Both ends are here: `PeerProcess` starts a program and asks it, `serve` is what the program does.
The benchmarks and `tests/peers` compare Lakebed with delta-spark so. The JAR of delta-spark comes
from Maven Central through Spark. It is for one version of Spark: both sides run on that one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TextIO

SPARK, DELTA_SPARK = "4.2", "4.4.0"
"""The newest release of delta-spark with a JAR, and the newest Spark that it has one for."""

DELTA_SPARK_SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}


def delta_spark_package(spark: str = SPARK, version: str = DELTA_SPARK) -> str:
    """The Maven coordinates of its JAR."""
    return f"io.delta:delta-spark_{spark}_2.13:{version}"


class PeerError(Exception):
    """A process ended before it answered."""


class PeerProcess:
    """A Python program that answers requests. `about` is what it says first, once it is ready."""

    def __init__(
        self,
        name: str,
        command: list[str],
        errors: Path,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self._errors = errors
        self._stream = errors.open("wb")
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stream,
            # By default Spark starts its workers with the first python3 of the PATH.
            env={**os.environ, "PYSPARK_PYTHON": command[0], **(environ or {})},
            text=True,
        )
        self.about = self.receive()

    def ask(self, **request: Any) -> dict[str, Any]:
        self.send(**request)
        return self.receive()

    def send(self, **request: Any) -> None:
        """Without waiting for the answer, so that several processes can work at once."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self.close()
            said = self._errors.read_text(errors="replace").strip()
            raise PeerError(f"{self.name} ended early; at last it said:\n{said[-3000:]}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._stream.close()


def answer_stream() -> TextIO:
    """Where answers go. Java and its libraries print to the standard output, so from here on that
    is the error output. Call it before Spark starts."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return answers


def serve(
    answers: TextIO, about: Mapping[str, Any], answer: Callable[[dict[str, Any]], Mapping[str, Any]]
) -> None:
    """Answers until the other end closes."""
    _write(answers, about)
    for line in sys.stdin:
        _write(answers, answer(json.loads(line)))


def _write(answers: TextIO, content: Mapping[str, Any]) -> None:
    answers.write(json.dumps(content) + "\n")
    answers.flush()
