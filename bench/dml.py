"""DELETE, UPDATE and MERGE of Lakebed beside those of delta-spark and of `deltalake`.

    python bench/dml.py                        10 million rows
    python bench/dml.py --rows 200000          smaller
    python bench/dml.py --only merge           some of the commands
    python bench/dml.py --conf spark.sql.shuffle.partitions=8

Each side is a process of its own; Lakebed and delta-spark run on the same version of Spark, with
the same settings, on tables with deletion vectors that each wrote itself from the same rows. They
take turns, after a warm-up; each round changes a fresh copy of the table, and what became of it is
compared, by a reader that belongs to no side, with the same change computed without a table.
`deltalake` is there for information: it has neither Spark nor a way to write vectors.

The JAR of delta-spark comes from Maven Central through Spark. It is for one version of Spark, and
not for the newest: both sides run in an environment of that version, made when it is missing.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import duckdb_extension_delta  # type: ignore[import-untyped]

ROOT = Path(__file__).resolve().parent.parent
SPARK, DELTA_SPARK = "4.2", "4.4.0"
"""The newest release of delta-spark with a JAR, and the newest Spark that it has one for."""
FASTER = 1.5
"""How many times faster than delta-spark is asked for."""
MOST_PYTHON = 1 << 30
"""Of the memory of the driver: what Lakebed's Python may take. Java is bounded by its heap."""
LAKEBED, THEIRS, OTHER = "lakebed", "delta-spark", "deltalake"
_SIDES = [LAKEBED, THEIRS, OTHER]

Facts = tuple[Any, ...]
"""How many rows, and a sum over all values of all rows."""

_MERGED_AND_ABSENT = "id % 100 = 42 OR id % 1000 = 999"
_PLAIN = "id, id * 0.25 AS price, 'name ' || id % 5000 AS name"
AFTER = {
    "merge": f"""
        SELECT id, if({_MERGED_AND_ABSENT}, id * 0.25 + 0.5, id * 0.25) AS price,
               if({_MERGED_AND_ABSENT}, 'merged ' || id % 7919, 'name ' || id % 5000) AS name
        FROM all_ids WHERE id % 1000 <> 999 OR id < (SELECT max(id) FROM ids)""",
    "delete": f"SELECT {_PLAIN} FROM ids WHERE id % 100 <> 7",
    "update": """
        SELECT id, id * 0.25 + if(id % 100 = 13, 1, 0) AS price,
               'name ' || id % 5000 || if(id % 100 = 13, '!', '') AS name
        FROM ids""",
}
"""What each command makes of the rows; the other columns follow from the id."""


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory() as temporary, contextlib.ExitStack() as stack:
        sides = [
            side
            for name in options.sides
            if (side := _started(name, options, Path(temporary), stack)) is not None
        ]
        results: dict[str, Any] = {
            "rows": options.rows,
            "settings": _settings(options),
            "sides": {side.name: side.about for side in sides},
        }
        _show_sides(sides, options)
        for side in sides:
            side.make(options.rows)
        with _reader() as facts:
            for work in options.only:
                expected = facts(_expected(work, options.rows))
                rounds = range(-options.warm_up, options.rounds)
                results[work] = _compare(work, sides, rounds, facts, expected)
                _show(work, results[work])
        results["memory"] = {side.name: side.peaks() for side in sides}
        _show_memory(results["memory"])
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--warm-up", type=int, default=3, help="rounds that do not count")
    parser.add_argument("--only", nargs="*", choices=list(AFTER), default=list(AFTER))
    parser.add_argument("--sides", nargs="*", choices=_SIDES, default=_SIDES)
    parser.add_argument("--spark", default=SPARK, help="version of Spark for both sides")
    parser.add_argument("--delta-spark", default=DELTA_SPARK, help="version of its JAR")
    parser.add_argument("--conf", action="append", default=[], help="a setting of both Sparks")
    parser.add_argument("--json", type=Path, help="also write the results there")
    return parser.parse_args()


def _settings(options: argparse.Namespace) -> dict[str, str]:
    more = dict(setting.split("=", 1) for setting in options.conf)
    return {
        "spark.master": "local[2]",
        "spark.driver.memory": "4g",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        **more,
    }


# --- measuring -----------------------------------------------------------------------------------


def _compare(
    work: str,
    sides: Sequence[Side],
    rounds: range,
    facts: Callable[[str], Facts],
    expected: Facts,
) -> dict[str, Any]:
    """Rounds below zero do not count: Java compiles what runs often."""
    times: dict[str, list[float]] = {side.name: [] for side in sides}
    busy_times: dict[str, list[float]] = {side.name: [] for side in sides}
    commits = {}
    for round_ in rounds:
        first = round_ % len(sides)
        for side in [*sides[first:], *sides[:first]]:
            with side.copy() as table:
                seconds, busy = side.run(work, table)
                found = facts(_found(table))
                commits[side.name] = _last_commit(table)
            if found != expected:
                sys.exit(f"{work} by {side.name}: {found} instead of {expected}")
            if round_ >= 0:
                times[side.name].append(seconds)
                busy_times[side.name].append(busy)
    medians = {name: statistics.median(each) for name, each in times.items()}
    result: dict[str, Any] = {"medians": medians, "times": times, "commits": commits}
    result["processor"] = {name: statistics.median(each) for name, each in busy_times.items()}
    if LAKEBED in medians and THEIRS in medians:
        result["faster"] = medians[THEIRS] / medians[LAKEBED]
    return result


@contextlib.contextmanager
def _reader() -> Iterator[Callable[[str], Facts]]:
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


def _found(table: Path) -> str:
    columns = 'id, shop, price, name, epoch_us("at") AS moment, day'
    return _facts_of(f"SELECT {columns} FROM delta_scan('{table}')")


def _expected(work: str, rows: int) -> str:
    return f"""
        WITH ids AS (SELECT n + n // 999 AS id FROM range({rows}) AS t(n)),
             all_ids AS (SELECT n AS id FROM range({rows} + {rows} // 999) AS t(n)),
             after AS ({AFTER[work]})
        {
        _facts_of(
            "SELECT id, (id % 1000)::INTEGER AS shop, price::DOUBLE AS price, name,"
            "(1700000000 + id) * 1000000 AS moment,"
            "DATE '2026-01-01' + (id % 365)::INTEGER AS day FROM after"
        )
    }"""


def _facts_of(rows: str) -> str:
    return f"SELECT count(*), sum(hash(id, shop, price, name, moment, day)) FROM ({rows})"


def _last_commit(table: Path) -> dict[str, int]:
    """Whether rows were marked or copied, by the newest commit itself."""
    newest = max((table / "_delta_log").glob("*.json"))
    actions = [json.loads(line) for line in newest.read_text().splitlines()]
    adds = [action["add"] for action in actions if "add" in action]
    new = [add for add in adds if not add.get("deletionVector")]
    return {
        "vectors": len(adds) - len(new),
        "files": len(new),
        "bytes": sum(add["size"] for add in new),
    }


# --- sides ---------------------------------------------------------------------------------------


class SideError(Exception):
    """A process ended before it answered."""


class Side:
    """A process that changes tables when it is asked to."""

    def __init__(self, name: str, python: Path, settings: dict[str, str], folder: Path) -> None:
        self.name = name
        self._folder = folder / name
        self._folder.mkdir()
        self._errors = (self._folder / "errors").open("wb")
        program = str(ROOT / "bench" / "_dml_side.py")
        self._process = subprocess.Popen(
            [str(python), program, name, json.dumps(settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            # Spark starts its workers with the first python3 of the PATH, unless told otherwise.
            env={**os.environ, "PYSPARK_PYTHON": str(python)},
            text=True,
        )
        self.about = self._answer()

    def make(self, rows: int) -> None:
        self._ask(do="make", table=str(self._table), source=str(self._source), rows=rows)
        self._forget_peaks()

    def run(self, work: str, table: Path) -> tuple[float, float]:
        """How long it took, and how much time of processors."""
        self._ask(do="settle", path=str(table))
        before = self._processor_time()
        answer = self._ask(do=work, path=str(table), source=str(self._source))
        return answer["seconds"], self._processor_time() - before

    @contextlib.contextmanager
    def copy(self) -> Iterator[Path]:
        """The table as it was made: the same files, and a log of its own, at a path of its
        own, because delta-spark remembers tables by their path."""
        path = self._folder / f"copy-{uuid.uuid4()}"
        shutil.copytree(self._table, path, copy_function=_link)
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

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._errors.close()

    @property
    def _table(self) -> Path:
        return self._folder / "table"

    @property
    def _source(self) -> Path:
        return self._folder / "source"

    def _processor_time(self) -> float:
        """Of its processes so far, in seconds: what a busy machine distorts less. 0 if unknown."""
        ticks = 0
        for pid in self.about["pids"].values():
            stat = Path(f"/proc/{pid}/stat")
            if stat.exists():
                # After the name, which may contain anything, user and system time are at 11 and 12.
                fields = stat.read_text().rpartition(")")[2].split()
                ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def _forget_peaks(self) -> None:
        """Making the table does not count."""
        for pid in self.about["pids"].values():
            switch = Path(f"/proc/{pid}/clear_refs")
            if switch.exists():
                switch.write_text("5")

    def _ask(self, **request: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self.close()
            said = (self._folder / "errors").read_text(errors="replace").strip()
            raise SideError(f"{self.name} ended early; at last it said:\n{said[-3000:]}")
        answer: dict[str, Any] = json.loads(line)
        return answer


def _started(
    name: str, options: argparse.Namespace, folder: Path, stack: contextlib.ExitStack
) -> Side | None:
    settings = _settings(options)
    if name == THEIRS:
        package = f"io.delta:delta-spark_{options.spark}_2.13:{options.delta_spark}"
        settings["spark.jars.packages"] = package
    try:
        side = Side(name, _python(options.spark), settings, folder)
    except SideError as error:
        if name != THEIRS:
            raise
        print(f"{error}\n{name} is skipped: it did not start with {package}", flush=True)
        return None
    stack.callback(side.close)
    return side


def _python(spark: str) -> Path:
    """That of an environment with this Spark."""
    sys.path.insert(0, str(ROOT / "tools"))
    from environment import DEV, Environment

    environment = Environment(ROOT, spark)
    environment.ensure(DEV)
    return environment.python


def _link(source: str, target: str) -> None:
    if "_delta_log" in source:
        shutil.copy(source, target)
    else:
        Path(target).hardlink_to(source)


# --- showing -------------------------------------------------------------------------------------


def _show_sides(sides: Sequence[Side], options: argparse.Namespace) -> None:
    versions = {
        side.name: options.delta_spark if side.name == THEIRS else side.about["version"]
        for side in sides
    }
    named = ", ".join(f"{name} {version}" for name, version in versions.items())
    sparks = {side.about["spark"] for side in sides if "spark" in side.about}
    if len(sparks) > 1:
        sys.exit(f"the sides have different versions of Spark: {sparks}")
    print(f"{options.rows:,} rows, Spark {', '.join(sparks) or 'none'}: {named}", flush=True)


def _show(work: str, result: dict[str, Any]) -> None:
    times = "  ".join(f"{name} {seconds:7.3f} s" for name, seconds in result["medians"].items())
    verdict = ""
    if "faster" in result:
        word = "ok" if result["faster"] >= FASTER else "MISSED"
        verdict = f"  {result['faster']:5.2f} times faster, asked {FASTER}  {word}"
    print(f"{work:8} {times}{verdict}", flush=True)
    for name in result["medians"]:
        commit = result["commits"][name]
        busy = f"{result['processor'][name]:7.2f} s of processors"
        wrote = f"{commit['vectors']} vectors, {commit['files']} new files"
        print(f"         {name:12} {busy}; {wrote}, {commit['bytes'] / 1e6:.1f} MB", flush=True)


def _show_memory(memory: dict[str, dict[str, int]]) -> None:
    for name, peaks in memory.items():
        parts = ", ".join(f"{part} {peak / 1e6:,.0f} MB" for part, peak in peaks.items())
        verdict = ""
        if name == LAKEBED and "python" in peaks:
            word = "ok" if peaks["python"] <= MOST_PYTHON else "MISSED"
            verdict = f"  asked of Python {MOST_PYTHON / 1e6:,.0f} MB at most  {word}"
        print(f"memory   {name:12} {parts or 'unknown'}{verdict}", flush=True)


if __name__ == "__main__":
    main()
