"""The checks that every change must pass: formatting, lint, types and layers, then the tests."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
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


FAILED = "FAILED"
SKIPPED = 77
"""The exit status of a check that this machine has no tool for. It has said which."""

STATIC = (
    Check("format", ("-m", "ruff", "format", "--check", ".")),
    Check("lint", ("-m", "ruff", "check", ".")),
    Check("types", ("-m", "mypy")),
    Check("types of tools", ("-m", "mypy", "tools", "examples")),
    Check("layers", (".venv/bin/lint-imports",)),
    Check("Java", ("tools/java_sources.py",)),
)

_WITH_SPARK = (
    *("tests/spark", "tests/sessions", "tests/tables", "tests/commands/optimize"),
    *("tests/connect/plain_server", "tests/golden", "tests/docs"),
)
ON_ANOTHER_SPARK = (
    *("tests/spark", "tests/sessions", "tests/tables", "tests/sql", "tests/connect"),
    *("tests/commands/optimize", "tests/commands/rows", "tests/commands/write", "tests/streaming"),
)
"""What `./run test --spark VERSION` runs unless it is given tests."""
PEERS = "tests/peers"
"""Compares with delta-spark, whose JAR has to be downloaded. `./run test --peers` runs all of it;
where changes land its short form runs, the tests with the marker `short`."""
# Two halves for two processors, of about the same length: the first has the tests of row changes.
# Each has at most one Spark session, and a cache of its own: two runs of pytest that share one
# overwrite each other's notes.
SUITES = (
    Check("tests", ("-m", "pytest", *(f"--ignore={folder}" for folder in (*_WITH_SPARK, PEERS)))),
    Check("tests on Spark", ("-m", "pytest", "-o", "cache_dir=.pytest_cache/spark", *_WITH_SPARK)),
)


_AT_ONCE = 2
"""Suites that run at the same time. Each has a Spark of its own, of about two processors' work."""

_CONTRACT = (
    "tests/spark/plane/test_plane_contract.py",
    "tests/sessions/native/test_native_source.py",
    "tests/spark/internals/test_spark_internals.py",
    "tests/spark/internals/test_jvm_rules.py",
    "tests/sql/test_rows_by_plans.py",
    "tests/apis/test_apis.py",
)


def contract(environment: Environment) -> Check:
    """What must hold on every Spark: the contract of the planes, and one test for each API."""
    cache = f"cache_dir=.pytest_cache/spark-{environment.spark}"
    return Check(f"Spark {environment.spark}", ("-m", "pytest", "-o", cache, *_CONTRACT))


def short_peers(environment: Environment) -> Check:
    """A few minutes of the comparison with delta-spark: skipped where its JAR cannot be had."""
    arguments = ("-o", "cache_dir=.pytest_cache/peers", "-m", "short", PEERS)
    return Check(f"peers on {environment.spark}", ("-m", "pytest", *arguments))


def java(environment: Environment) -> Check:
    """The Java sources with the jars of one environment, instead of all."""
    return Check(f"Java {environment.spark}", ("tools/java_sources.py", str(environment.folder)))


def measured(check: Check) -> Check:
    """The same tests, with a note of every branch that they take."""
    assert check.arguments[:2] == ("-m", "pytest")
    return Check(check.name, ("-m", "coverage", "run", *check.arguments))


def coverage(*, of_all: bool) -> tuple[Check, ...]:
    """After the measured tests. Those of all tests must reach the floor in `pyproject.toml`."""
    floor = () if of_all else ("--fail-under=0",)
    return (
        Check("both halves", ("-m", "coverage", "combine", "--quiet")),
        Check("coverage", ("-m", "coverage", "report", "--sort=cover", *floor)),
    )


def delta_suite(arguments: list[str]) -> Check:
    return Check("delta-spark's", ("tools/delta_suite.py", *arguments))


def pytest(arguments: list[str]) -> Check:
    return Check("tests", ("-m", "pytest", *arguments))


def run_checks(environment: Environment, checks: tuple[Check, ...]) -> list[Outcome]:
    """Runs all of them, so that one run shows everything there is to repair."""
    return [_run(environment, check) for check in checks]


def run_suites(suites: list[tuple[Environment, Check]]) -> list[Outcome]:
    """Runs two of them at once: shows the first as it goes, the others at their end."""
    (environment, first), *others = suites
    with ExitStack() as stack:
        outputs = [stack.enter_context(tempfile.TemporaryFile()) for _ in others]
        pool = stack.enter_context(ThreadPoolExecutor(_AT_ONCE))
        running = [pool.submit(_run, environment, first)]
        running += [
            pool.submit(_run, *each, output) for each, output in zip(others, outputs, strict=True)
        ]
        outcomes = [each.result() for each in running]
        for (_, check), output in zip(others, outputs, strict=True):
            output.seek(0)
            print(f"==> {check.name}", file=sys.stderr, flush=True)
            sys.stdout.flush()
            shutil.copyfileobj(output, sys.stdout.buffer)
    return outcomes


def report(outcomes: list[Outcome]) -> int:
    """Prints what passed and what failed; the exit status."""
    print()
    for each in outcomes:
        print(f"{_verdict(each):>7}  {each.name:<15} {each.seconds:6.1f} s")
    return int(any(_verdict(each) == FAILED for each in outcomes))


def _verdict(outcome: Outcome) -> str:
    return {0: "ok", SKIPPED: "skipped"}.get(outcome.status, FAILED)


def _run(environment: Environment, check: Check, output: IO[bytes] | None = None) -> Outcome:
    print(f"==> {check.name}", file=sys.stderr, flush=True)
    start = time.monotonic()
    status = environment.run(list(check.arguments), output=output)
    return Outcome(check.name, status, time.monotonic() - start)
