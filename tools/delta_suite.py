"""delta-spark's own Python suites, unmodified, with `delta` standing for Lakebed.

The suites are read from a checkout of delta-spark's repository and never copied. Each file runs in
a process of its own, as there: this file is both what starts the processes and what they run.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

SUITES = ("delta/tests", "delta/connect/tests")
"""On classic sessions, and on Spark Connect."""
PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"

_CLASSIC = f"{SUITES[0]}/test_deltatable.py::DeltaTableTests"
_CONNECT = f"{SUITES[1]}/test_deltatable.py::DeltaTableTests"
_EXCEPTIONS = f"{SUITES[0]}/test_exceptions.py::DeltaExceptionTests"
_PIP = f"{SUITES[0]}/test_pip_utils.py::PipUtilsCustomJarsTests"
_TEST_FEATURES = "org.apache.spark.sql.delta.TestRemovableWriterFeature"
REACHES: Mapping[str, str] = {
    f"{_CLASSIC}.test_dropFeatureSupport": _TEST_FEATURES,
    f"{_CONNECT}.test_dropFeatureSupport": _TEST_FEATURES,
    f"{_CLASSIC}.test_verify_paritionedBy_compatibility": "io.delta.tables.DeltaTableBuilder",
    f"{_EXCEPTIONS}.test_capture_delta_analysis_exception": (
        "org.apache.spark.sql.delta.DeltaErrors"
    ),
    f"{_EXCEPTIONS}.test_capture_delta_illegal_argument_exception": (
        "org.apache.spark.sql.delta.DeltaErrors"
    ),
    f"{_PIP}.test_maven_jar_loaded": "the JAR io.delta:delta-spark",
}
"""Tests that need more of delta-spark than its public API, and the class or JAR that they need."""


@dataclass(frozen=True)
class Ran:
    """What became of a test; `name` is its folder, file, class and method."""

    name: str
    outcome: str
    reason: str = ""


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="./run test --delta-suite")
    parser.add_argument("checkout", type=Path, help="a checkout of delta-spark's repository")
    parser.add_argument("-k", dest="only", default="", help="only tests with this in their name")
    parser.add_argument(
        "--in", dest="within", default="", help="only files with this in their path"
    )
    parser.add_argument("--file", help=argparse.SUPPRESS)
    parser.add_argument("--results", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    python = given.checkout.resolve() / "python"
    if given.file is not None:
        _run_file(python, given.file, given.only, given.results)
        return 0
    files = [
        file
        for suite in SUITES
        for file in sorted((python / suite).glob("test_*.py"))
        if given.within in str(file.relative_to(python))
    ]
    if not files:
        print(
            f"{given.checkout} has no such tests: give a checkout of the repository delta-io/delta"
        )
        return 2
    tests = []
    for file in files:
        found = _results(given, python, file)
        print_outcomes(found, REACHES)
        tests += found
    return int(print_counts(tests, REACHES, of_all=not (given.only or given.within)) > 0)


def print_outcomes(tests: Sequence[Ran], reaches: Mapping[str, str]) -> None:
    """Each test that did not pass, with its reason."""
    for test in tests:
        known = reaches.get(test.name)
        if known is not None and test.outcome != FAILED:
            print(f"{test.outcome}, and is listed as needing {known}: {test.name}")
        elif test.outcome == FAILED:
            print(f"{'needs ' + known if known else 'FAILED'}: {test.name}\n    {test.reason}")
        elif test.outcome == SKIPPED:
            print(f"skipped by itself: {test.name}: {test.reason}")
    sys.stdout.flush()


def print_counts(tests: Sequence[Ran], reaches: Mapping[str, str], *, of_all: bool) -> int:
    """Returns how many tests are a surprise: fail and are not listed, or the other way round."""
    surprises = [test for test in tests if (test.outcome == FAILED) != (test.name in reaches)]
    missing = sorted(set(reaches) - {test.name for test in tests}) if of_all else []
    for name in missing:
        print(f"listed, but there is no such test: {name}")
    for suite in SUITES:
        found = [test for test in tests if test.name.startswith(f"{suite}/")]
        counts = {each: sum(test.outcome == each for test in found) for each in _OUTCOMES}
        listed = sum(test.name in reaches for test in found)
        print(
            f"{suite}: {counts[PASSED]} of {len(found)} pass; {counts[FAILED]} fail, {listed} of "
            f"them listed; {counts[SKIPPED]} skip themselves"
        )
    return len(surprises) + len(missing)


_OUTCOMES = (PASSED, FAILED, SKIPPED)


def _results(given: argparse.Namespace, python: Path, file: Path) -> list[Ran]:
    """Those of one file, from a process that starts in an empty folder."""
    name = str(file.relative_to(python))
    print(f"==> {name}", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.json"
        arguments = ["--file", name, "--results", str(results), "-k", given.only]
        command = [sys.executable, "-P" if sys.version_info >= (3, 11) else "-I", __file__]
        environ = {**os.environ, "PYSPARK_PYTHON": sys.executable}
        log = Path(folder) / "log"
        with log.open("wb") as output:
            status = subprocess.run(
                [*command, str(given.checkout.resolve()), *arguments],
                cwd=folder,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                check=False,
            ).returncode
        if not results.exists():
            tail = log.read_text(errors="replace").strip()[-2000:]
            return [Ran(name, FAILED, f"ended with {status}: {tail}")]
        return [Ran(**each) for each in json.loads(results.read_text())]


# --- in the process of a file ------------------------------------------------------------------


def _run_file(python: Path, name: str, only: str, results: Path) -> None:
    import lakebed

    lakebed.install_as_delta()
    if name.startswith(f"{SUITES[1]}/"):
        _take_free_ports()
    for package in ("delta.testing", "delta.connect.testing"):
        sys.modules[package] = _package(package, python / package.replace(".", "/"))
    sys.path.append(str(python))
    module = _module(python / name)
    loader = unittest.TestLoader()
    loader.testNamePatterns = [f"*{only}*"] if only else None
    collected = _Collected(name)
    loader.loadTestsFromModule(module).run(collected)
    results.write_text(json.dumps([asdict(test) for test in collected.tests]))


def _take_free_ports() -> None:
    """Servers of Spark Connect take a free port, which their clients find, for Spark's own tests.

    The JVM starts before that, because Spark's analyzer makes checks of its own for them.
    """
    from pyspark import SparkContext

    SparkContext._ensure_initialized()
    os.environ["SPARK_TESTING"] = "1"


def _package(name: str, folder: Path) -> ModuleType:
    """The checkout's own base classes of its tests."""
    found = ModuleType(name)
    found.__path__ = [str(folder)]
    return found


def _module(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"delta_suite_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


class _Collected(unittest.TestResult):
    """The outcome of each test."""

    def __init__(self, file: str) -> None:
        super().__init__()
        self._file = file
        self.tests: list[Ran] = []

    def addSuccess(self, test: Any) -> None:
        self._add(test, PASSED, "")

    def addSkip(self, test: Any, reason: str) -> None:
        self._add(test, SKIPPED, reason)

    def addFailure(self, test: Any, err: Any) -> None:
        super().addFailure(test, err)
        self._add(test, FAILED, _reason(err))

    def addError(self, test: Any, err: Any) -> None:
        super().addError(test, err)
        self._add(test, FAILED, _reason(err))

    def _add(self, test: Any, outcome: str, reason: str) -> None:
        print(f"{outcome}: {test}", flush=True)
        kind, _, method = str(test.id()).rpartition(".")
        place = kind.rpartition(".")[2]
        self.tests.append(Ran(f"{self._file}::{place}.{method}", outcome, reason))


def _reason(err: Any) -> str:
    kind, error, _ = err
    return f"{kind.__name__}: {str(error).strip()}"[:800].replace("\n", "\n    ")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
