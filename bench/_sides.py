"""Sides of a comparison: processes that take turns, and a reader that belongs to none of them.

`bench/dml.py` and `bench/services.py` compare Lakebed with delta-spark and with `deltalake` so.
What runs in the processes is built on `bench/_side_process.py`.

The JAR of delta-spark is for one version of Spark, and not for the newest: both sides run in an
environment of that version, made when it is missing.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import duckdb_extension_delta  # type: ignore[import-untyped]

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tools"))

from peer_process import (  # noqa: E402
    DELTA_SPARK,
    SPARK,
    PeerError,
    PeerProcess,
    delta_spark_package,
)

LAKEBED, THEIRS, OTHER, ALONE = "lakebed", "delta-spark", "deltalake", "standalone"
SIDES = [LAKEBED, THEIRS, OTHER]
WITHOUT_SPARK = (OTHER, ALONE)
"""`ALONE` is Lakebed without Spark."""

Facts = tuple[Any, ...]
"""How many rows, and a sum over all values of all rows."""


# --- options -------------------------------------------------------------------------------------


def parser_of(
    description: str | None, works: Sequence[str], sides: Sequence[str] = SIDES
) -> argparse.ArgumentParser:
    """With the options that all comparisons have."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--warm-up", type=int, default=3, help="rounds that do not count")
    parser.add_argument("--only", nargs="*", choices=list(works), default=list(works))
    parser.add_argument("--sides", nargs="*", choices=sides, default=sides)
    parser.add_argument("--spark", default=SPARK, help="version of Spark for both sides")
    parser.add_argument("--delta-spark", default=DELTA_SPARK, help="version of its JAR")
    parser.add_argument("--conf", action="append", default=[], help="a setting of both Sparks")
    parser.add_argument("--json", type=Path, help="also write the results there")
    return parser


def settings_of(options: argparse.Namespace) -> dict[str, str]:
    more = dict(setting.split("=", 1) for setting in options.conf)
    return {
        "spark.master": "local[2]",
        "spark.driver.memory": "4g",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        **more,
    }


# --- processes -----------------------------------------------------------------------------------


class Side(PeerProcess):
    """A process that works on tables when it is asked to."""

    def __init__(
        self, name: str, python: Path, program: str, settings: dict[str, str], folder: Path
    ) -> None:
        self.folder = folder / name
        self.folder.mkdir()
        command = [str(python), str(ROOT / "bench" / program), name, json.dumps(settings)]
        super().__init__(name, command, self.folder / "errors")

    def run(self, work: str, table: Path, **more: Any) -> tuple[float, float]:
        """How long it took, and how much time of processors."""
        self.ask(do="settle", path=str(table))
        before = self._processor_time()
        answer = self.ask(do=work, path=str(table), **more)
        return answer["seconds"], self._processor_time() - before

    @contextlib.contextmanager
    def copy_of(self, table: Path) -> Iterator[Path]:
        """The table as it was made: the same files, and a log of its own, at a path of its
        own, because delta-spark remembers tables by their path."""
        path = self.folder / f"copy-{uuid.uuid4()}"
        shutil.copytree(table, path, copy_function=_link)
        yield path
        shutil.rmtree(path)

    def peaks(self) -> dict[str, int]:
        """The most memory of each of its processes, in bytes, where the system tells."""
        found = {}
        for name, pid in self.about["pids"].items():
            status = Path(f"/proc/{pid}/status")
            lines = status.read_text().splitlines() if status.exists() else []
            for line in lines:
                if line.startswith("VmHWM:"):
                    found[name] = int(line.split()[1]) * 1024
        return found

    def forget_peaks(self) -> None:
        """What was done so far does not count."""
        for pid in self.about["pids"].values():
            switch = Path(f"/proc/{pid}/clear_refs")
            if switch.exists():
                switch.write_text("5")

    def _processor_time(self) -> float:
        """Of its processes so far, in seconds: what a busy machine distorts less. 0 if unknown."""
        ticks = 0
        for pid in _with_children(self.about["pids"].values()):
            stat = Path(f"/proc/{pid}/stat")
            if stat.exists():
                # After the name, which may contain anything, user and system time are at 11 and 12.
                fields = stat.read_text().rpartition(")")[2].split()
                ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")


def started(
    program: str, options: argparse.Namespace, folder: Path, stack: contextlib.ExitStack
) -> list[Side]:
    """The sides that are asked for; delta-spark only if its JAR can be had."""
    on_spark = any(name not in WITHOUT_SPARK for name in options.sides)
    python = _python(options.spark) if on_spark else Path(sys.executable)
    package = delta_spark_package(options.spark, options.delta_spark)
    sides = []
    for name in options.sides:
        settings = settings_of(options)
        if name == THEIRS:
            settings["spark.jars.packages"] = package
        try:
            side = Side(name, python, program, settings, folder)
        except PeerError as error:
            if name != THEIRS:
                raise
            print(f"{error}\n{name} is skipped: it did not start with {package}", flush=True)
        else:
            stack.callback(side.close)
            sides.append(side)
    return sides


def in_turns(sides: Sequence[Side], options: argparse.Namespace) -> Iterator[tuple[Side, bool]]:
    """Each side once in each round, and whether the round counts: Java compiles what runs often."""
    for round_ in range(-options.warm_up, options.rounds):
        first = round_ % len(sides)
        for side in [*sides[first:], *sides[:first]]:
            yield side, round_ >= 0


def show_sides(what: str, sides: Sequence[Side], options: argparse.Namespace) -> None:
    versions = {
        side.name: options.delta_spark if side.name == THEIRS else side.about["version"]
        for side in sides
    }
    named = ", ".join(f"{name} {version}" for name, version in versions.items())
    sparks = {side.about["spark"] for side in sides if "spark" in side.about}
    if len(sparks) > 1:
        sys.exit(f"the sides have different versions of Spark: {sparks}")
    print(f"{what}, Spark {', '.join(sparks) or 'none'}: {named}", flush=True)


def _python(spark: str) -> Path:
    """That of an environment with this Spark."""
    from environment import DEV, Environment

    environment = Environment(ROOT, spark)
    environment.ensure(DEV)
    return environment.python


def _with_children(pids: Iterable[int]) -> set[int]:
    """Processes may have others work for them."""
    found: set[int] = set()
    left = list(pids)
    while left:
        pid = left.pop()
        if pid not in found:
            found.add(pid)
            for task in Path(f"/proc/{pid}/task").glob("*/children"):
                with contextlib.suppress(OSError):
                    left += map(int, task.read_text().split())
    return found


def _link(source: str, target: str) -> None:
    if "_delta_log" in source:
        shutil.copy(source, target)
    else:
        Path(target).hardlink_to(source)


# --- the reader of none of them ------------------------------------------------------------------


@contextlib.contextmanager
def reader() -> Iterator[Callable[[str], Facts]]:
    """Answers a query about tables with their vectors, by none of the sides' own code."""
    folder = Path(duckdb_extension_delta.__file__).parent / "extensions"
    extension = folder / f"v{duckdb.__version__}" / "delta.duckdb_extension"
    with duckdb.connect(config={"allow_unsigned_extensions": "true"}) as connection:
        connection.execute(f"LOAD '{extension}'")

        def facts(query: str) -> Facts:
            row = connection.execute(query).fetchone()
            assert row is not None
            return tuple(str(value) for value in row)

        yield facts
