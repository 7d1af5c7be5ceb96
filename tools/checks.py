"""The checks that every change must pass: formatting, lint, types and layers, then the tests."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

from environment import Environment


@dataclass(frozen=True)
class Check:
    name: str
    arguments: tuple[str, ...]


STATIC = (
    Check("format", ("-m", "ruff", "format", "--check", ".")),
    Check("lint", ("-m", "ruff", "check", ".")),
    Check("types", ("-m", "mypy")),
    Check("types of tools", ("-m", "mypy", "tools", "examples")),
    Check("layers", (".venv/bin/lint-imports",)),
)


def tests(arguments: list[str]) -> Check:
    return Check("tests", ("-m", "pytest", *arguments))


def run_checks(environment: Environment, checks: tuple[Check, ...]) -> int:
    """Runs all of them, so that one run shows everything there is to repair."""
    outcomes = [(check.name, *_timed(environment, check)) for check in checks]
    print()
    for name, status, seconds in outcomes:
        print(f"{'ok' if status == 0 else 'FAILED':>6}  {name:<15} {seconds:6.1f} s")
    return int(any(status for _, status, _ in outcomes))


def _timed(environment: Environment, check: Check) -> tuple[int, float]:
    print(f"==> {check.name}", file=sys.stderr, flush=True)
    start = time.monotonic()
    status = environment.run(list(check.arguments))
    return status, time.monotonic() - start
