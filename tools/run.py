"""`./run`: the project's tasks. Standard library only: it starts before anything is installed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

from checks import STATIC, run_checks, tests
from environment import DEMO, DEV, Environment
from requirements import RequirementError, require_java, require_venv

ROOT = Path(__file__).resolve().parent.parent


LISTING = """\
Lakebed: Delta Lake for PySpark, written in Python.

  ./run demo          set up .venv and show what a Lakebed table does
  ./run test          set up .venv and run every check and test
  ./run test PATH...  only pytest, with these arguments
  ./run check         only the static checks: format, lint, types, layers
  ./run tidy          repair formatting and what else ruff can repair
  ./run bench NAME    run a benchmark; without a name, list them
  ./run doctor        say whether this machine has what Lakebed needs"""


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
    script = str(ROOT / "examples" / "demo.py")
    return _environment(DEMO).run([script, *arguments], folder=Path.cwd())


def test(arguments: list[str]) -> int:
    static = () if arguments else STATIC
    return run_checks(_environment(DEV), (*static, tests(arguments)))


def check(_: list[str]) -> int:
    return run_checks(_environment(DEV), STATIC)


def tidy(_: list[str]) -> int:
    environment = _environment(DEV)
    linted = environment.run(["-m", "ruff", "check", "--fix", "."])
    return environment.run(["-m", "ruff", "format", "."]) or linted


def bench(arguments: list[str]) -> int:
    names = sorted(file.stem for file in (ROOT / "bench").glob("[!_]*.py"))
    if not arguments or arguments[0] not in names:
        print(f"usage: ./run bench NAME [ARGUMENTS]\nbenchmarks: {', '.join(names)}")
        return 2 if arguments else 0
    name, *rest = arguments
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


def _environment(extra: str) -> Environment:
    try:
        require_java(os.environ)
    except RequirementError as error:
        print(f"warning: {error}\n(Not needed for this command.)\n", file=sys.stderr)
    environment = Environment(ROOT)
    environment.ensure(extra)
    return environment


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (RequirementError, OSError) as problem:
        sys.exit(str(problem))
    except KeyboardInterrupt:
        sys.exit(130)
