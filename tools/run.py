"""`./run`: the project's tasks. Standard library only: it starts before anything is installed."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import stores
from checks import (
    ON_ANOTHER_SPARK,
    PEERS,
    STATIC,
    SUITES,
    Check,
    contract,
    coverage,
    delta_suite,
    java,
    measured,
    pytest,
    report,
    run_checks,
    run_suites,
    short_peers,
)
from environment import DEMO, DEV, Environment
from peer_process import SPARK as SPARK_OF_PEERS
from requirements import RequirementError, require_java, require_venv

ROOT = Path(__file__).resolve().parent.parent
SPARKS = ("4.0", "4.1", "4.2", "4.3")
"""The newest is the one in `.venv`."""
ALL = "all"
_RELEASE = re.compile(r"(\d+)\.(\d+)(\.\w+)*")
"""May not be one of those: the newest patch of 4.4, or exactly 4.4.0 or 4.4.0.dev1."""

LISTING = """\
Lakebed: Delta Lake for PySpark, written in Python.

  ./run demo              set up .venv and show a small lakehouse on local Spark
  ./run demo --no-spark   the same without Spark and Java
  ./run test              set up .venv and run every check and test
  ./run test PATH...      only pytest, with these arguments
  ./run test --spark 4.1  the tests of Spark, or others, on another Spark: 4.0, 4.1, 4.2, 4.3
  ./run test --spark all  every check and test, and on the older Sparks what must hold on each
  ./run test --spark 4.4  try a Spark that Lakebed does not know yet, and show what broke
  ./run test --peers      Lakebed beside delta-spark, on the Spark that its JAR is for
  ./run test --coverage   every test, and which branches of the source none of them takes
  ./run test --delta-suite PATH  delta-spark's own Python tests, from a checkout, on Lakebed
  ./run test --stores     the servers of object stores that can be had, and the tests on them
  ./run check             only the static checks: format, lint, types, layers, Java
  ./run tidy              repair formatting and what else ruff can repair
  ./run bench             Lakebed beside its peers, in minutes; --full is longer and larger
  ./run bench NAME        run a single benchmark; --list lists them
  ./run doctor            say whether this machine has what Lakebed needs"""


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("help", "-h", "--help"):
        print(LISTING)
        return 0
    name, *rest = arguments
    if name not in COMMANDS:
        print(f"./run has no command {name!r}.\n\n{LISTING}", file=sys.stderr)
        return 2
    return COMMANDS[name](rest)


def demo(arguments: list[str]) -> int:
    """With Spark: nobody should find out in a Java trace that there is no Java."""
    if "--no-spark" not in arguments:
        _require_java('To see it without Spark: "./run demo --no-spark"')
    script = str(ROOT / "examples" / "demo.py")
    return _environment(DEMO).run([script, *arguments], folder=Path.cwd())


def test(arguments: list[str]) -> int:
    if arguments and arguments[0] == "--peers":
        return _test_peers(arguments[1:])
    if arguments and arguments[0] == "--delta-suite":
        return _test_delta_suite(arguments[1:])
    if arguments and arguments[0] == "--stores":
        return _test_stores(arguments[1:])
    if arguments and arguments[0] == "--coverage":
        return _measure_coverage(arguments[1:])
    spark, rest = _choice_of_spark(arguments)
    if spark == ALL and rest:
        _require_java()
        suites = [(_environment(DEV, each), _named(each, rest)) for each in SPARKS]
        return report(run_suites(suites))
    if spark not in (None, ALL, *SPARKS):
        _require_java()
        return _try_spark(_environment(DEV, spark), rest)
    if spark not in (None, ALL):
        _require_java()
        suite = pytest(rest or list(ON_ANOTHER_SPARK))
        return report(run_checks(_environment(DEV, spark), (suite,)))
    if rest:
        return report(run_checks(_environment(DEV), (pytest(rest),)))
    _require_java()
    return _test_everything(older=spark == ALL or os.environ.get("CI") == "true")


def _test_everything(*, older: bool) -> int:
    """With `older` also what must hold on every Spark, on all but the newest, and a comparison
    with delta-spark in short."""
    environment = _environment(DEV)
    if os.environ.get("CI") == "true":
        stores.install_s3(ROOT)
    suites = [(environment, each) for each in SUITES]
    # Before the static checks: Java is compiled for each Spark that there is.
    others = [_environment(DEV, each) for each in SPARKS[:-1]] if older else []
    outcomes = run_checks(environment, STATIC)
    suites += [(each, contract(each)) for each in others]
    suites += [(each, short_peers(each)) for each in others if each.spark == SPARK_OF_PEERS]
    return report([*outcomes, *run_suites(suites)])


def _try_spark(environment: Environment, arguments: list[str]) -> int:
    """What a Spark breaks that is not known: in the Java sources, and of what must hold on each."""
    suite = pytest(arguments) if arguments else contract(environment)
    return report(run_checks(environment, (java(environment), suite)))


def check(_: list[str]) -> int:
    return report(run_checks(_environment(DEV), STATIC))


def tidy(_: list[str]) -> int:
    environment = _environment(DEV)
    linted = environment.run(["-m", "ruff", "check", "--fix", "."])
    return environment.run(["-m", "ruff", "format", "."]) or linted


def bench(arguments: list[str]) -> int:
    """Without a name the suite: all peers, all workloads, and the report."""
    names = sorted(file.stem for file in (ROOT / "bench").glob("[!_]*.py"))
    if arguments and arguments[0] == "--list":
        print("\n".join(names))
        return 0
    if not arguments or arguments[0].startswith("-"):
        _require_java()
        return _environment(DEV).run(["bench/suite", *arguments])
    name, *rest = arguments
    if name not in names:
        print(f"usage: ./run bench [NAME] [ARGUMENTS]\nbenchmarks: {', '.join(names)}")
        return 2
    return _environment(DEV).run([f"bench/{name}.py", *rest])


def doctor(_: list[str]) -> int:
    print(f"Python {sys.version.split()[0]} at {sys.executable}")
    require_venv()
    print("venv and ensurepip are there")
    print(f"Java {require_java(os.environ)}")
    return 0


COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "demo": demo,
    "test": test,
    "check": check,
    "tidy": tidy,
    "bench": bench,
    "doctor": doctor,
}


def _choice_of_spark(arguments: list[str]) -> tuple[str | None, list[str]]:
    """The version after `--spark`, if there is one, and the other arguments."""
    if not arguments or arguments[0].partition("=")[0] != "--spark":
        return None, arguments
    _, equals, version = arguments[0].partition("=")
    rest = arguments[1:]
    if not equals:
        version, rest = (rest[0], rest[1:]) if rest else ("", [])
    if version not in (*SPARKS, ALL) and not _may_be_newer(version):
        raise RequirementError(
            f"Lakebed is not tested on Spark {version or '(no version given)'}.\n"
            f"usage: ./run test --spark {{{','.join((*SPARKS, ALL))}}} [PYTEST ARGUMENTS]"
        )
    return version, rest


def _may_be_newer(version: str) -> bool:
    """Also an exact release of a Spark that is known."""
    found = _RELEASE.fullmatch(version)
    oldest = tuple(map(int, SPARKS[0].split(".")))
    return found is not None and (int(found[1]), int(found[2])) >= oldest


def _named(spark: str, arguments: list[str]) -> Check:
    cache = f"cache_dir=.pytest_cache/spark-{spark}"
    return Check(f"Spark {spark}", ("-m", "pytest", "-o", cache, *arguments))


def _test_peers(arguments: list[str]) -> int:
    """All of `tests/peers`, unless the arguments name a part of it."""
    _require_java()
    named = any(Path(argument.partition("::")[0]).exists() for argument in arguments)
    suite = pytest(arguments if named else [PEERS, *arguments])
    return report(run_checks(_environment(DEV, SPARK_OF_PEERS), (suite,)))


def _test_delta_suite(arguments: list[str]) -> int:
    """Their own tests, which stay in their checkout."""
    _require_java()
    given = [str(Path(each).resolve()) if Path(each).is_dir() else each for each in arguments]
    return report(run_checks(_environment(DEV), (delta_suite(given),)))


def _measure_coverage(arguments: list[str]) -> int:
    """Of all tests, which must reach a floor, or of those that the arguments name."""
    _require_java()
    environment = _environment(DEV)
    named = [measured(pytest(arguments))] if arguments else [measured(each) for each in SUITES]
    for notes in ROOT.glob(".coverage*"):
        notes.unlink()
    outcomes = run_suites([(environment, each) for each in named])
    return report([*outcomes, *run_checks(environment, coverage(of_all=not arguments))])


def _test_stores(arguments: list[str]) -> int:
    """Installs what can be had first; the tests of the rest are skipped and say so."""
    _require_java()
    environment = _environment(DEV)
    stores.install_all(environment)
    return report(run_checks(environment, (pytest([stores.TESTS, *arguments]),)))


def _require_java(otherwise: str = "") -> None:
    try:
        require_java(os.environ)
    except RequirementError as error:
        raise RequirementError(f"{error}\n{otherwise}".rstrip()) from error


def _environment(extra: str, spark: str | None = None) -> Environment:
    environment = Environment(ROOT, None if spark == SPARKS[-1] else spark)
    environment.ensure(extra)
    return environment


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (RequirementError, OSError) as problem:
        sys.exit(str(problem))
    except KeyboardInterrupt:
        sys.exit(130)
