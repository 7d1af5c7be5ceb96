"""The checks that every change must pass: formatting, lint, types and layers, then the tests."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import IO

from environment import Environment


@dataclass(frozen=True)
class Check:
    name: str
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    name: str
    status: int
    seconds: float


STATIC = (
    Check("format", ("-m", "ruff", "format", "--check", ".")),
    Check("lint", ("-m", "ruff", "check", ".")),
    Check("types", ("-m", "mypy")),
    Check("types of tools", ("-m", "mypy", "tools", "examples")),
    Check("layers", (".venv/bin/lint-imports",)),
)

_WITH_SPARK = ("tests/spark", "tests/golden", "tests/docs")
PEERS = "tests/peers"
"""Compares with delta-spark, whose JAR has to be downloaded: only `./run test --peers` runs it."""
# Two halves for two processors, of about the same length: the first has the tests of row changes.
# Each has at most one Spark session, and a cache of its own: two runs of pytest that share one
# overwrite each other's notes.
SUITES = (
    Check("tests", ("-m", "pytest", *(f"--ignore={folder}" for folder in (*_WITH_SPARK, PEERS)))),
    Check("tests on Spark", ("-m", "pytest", "-o", "cache_dir=.pytest_cache/spark", *_WITH_SPARK)),
)


def pytest(arguments: list[str]) -> Check:
    return Check("tests", ("-m", "pytest", *arguments))


def run_checks(environment: Environment, checks: tuple[Check, ...]) -> list[Outcome]:
    """Runs all of them, so that one run shows everything there is to repair."""
    return [_run(environment, check) for check in checks]


def run_suites(environment: Environment) -> list[Outcome]:
    """Runs both halves of the tests at once: shows the first as it goes, the second at its end."""
    first, second = SUITES
    with tempfile.TemporaryFile() as output, ThreadPoolExecutor() as pool:
        beside = pool.submit(_run, environment, second, output)
        outcomes = [_run(environment, first), beside.result()]
        output.seek(0)
        print(f"==> {second.name}", file=sys.stderr, flush=True)
        sys.stdout.flush()
        shutil.copyfileobj(output, sys.stdout.buffer)
    return outcomes


def report(outcomes: list[Outcome]) -> int:
    """Prints what passed and what failed; the exit status."""
    print()
    for each in outcomes:
        print(f"{'FAILED' if each.status else 'ok':>6}  {each.name:<15} {each.seconds:6.1f} s")
    return int(any(each.status for each in outcomes))


def _run(environment: Environment, check: Check, output: IO[bytes] | None = None) -> Outcome:
    print(f"==> {check.name}", file=sys.stderr, flush=True)
    start = time.monotonic()
    status = environment.run(list(check.arguments), output=output)
    return Outcome(check.name, status, time.monotonic() - start)
