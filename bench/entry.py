"""The way into Spark: what it costs to enable a session, to plan, to commit, and to be a client.

    python bench/entry.py                       all of it
    python bench/entry.py --only start served   some of it
    python bench/entry.py --before REVISION     planning and small commits beside an older Lakebed

start: a session from nothing to the answer of `SELECT 1`, plain and enabled, each in processes of
its own, with a warm cache of Java classes. served: a scan and a write by a client of
`lakebed server` beside a classic session. planning: plans and small commits of this Lakebed beside
those of another revision of this repository, which is checked out into a temporary folder.

Sides take turns, the ratio is that of medians. The second ratio is that of the time of processors,
which a busy machine distorts less.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

import lakebed
from _sides import ROOT, Side
from peer_process import PeerProcess

BEFORE = "9de354c"
"""The last revision whose sessions were made by patching PySpark."""
PARTS = ("start", "served", "planning")
SMALL = (
    *("plan_by_name", "plan_by_path", "insert_values"),
    *("append_frame", "delete_nothing", "update_one"),
)
MOST_MORE, MOST_RATIO = 150, 1.1
"""What was asked of enabling, in milliseconds, and of clients."""
Times = dict[str, list[tuple[float, float]]]
"""By sides: seconds, and seconds of processors."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="*", choices=PARTS, default=PARTS)
    parser.add_argument("--before", default=BEFORE, metavar="REVISION")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--warm-up", type=int, default=3)
    parser.add_argument("--rows", type=int, default=4_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        for part in options.only:
            globals()[part](options, folder, stack)


def start(options: argparse.Namespace, folder: Path, stack: contextlib.ExitStack) -> None:  # noqa: ARG001
    """Each round starts both; the first fills the cache."""
    times: Times = {"plain": [], "enabled": []}
    for turn in range(options.rounds + 1):
        for name, found in times.items():
            side = _side(name, folder / uuid.uuid4().hex)
            taken = side.run("start", folder)
            side.close()
            if turn > 0:
                found.append(taken)
    plain, enabled = (1000 * _median(times[name]) for name in ("plain", "enabled"))
    print("A session to the answer of its first query")
    print(
        f"  plain {plain:.0f} ms, enabled {enabled:.0f} ms: {enabled - plain:.0f} ms more ", end=""
    )
    print(f"(asked: at most {MOST_MORE})", flush=True)


def served(options: argparse.Namespace, folder: Path, stack: contextlib.ExitStack) -> None:
    table = folder / "whole"
    lakebed.write(table, _rows(options.rows))
    sides = [_entered(name, folder, stack) for name in ("classic", "served")]
    print(f"A client of `lakebed server` beside a classic session, {options.rows:,} rows")
    for work in ("scan", "write"):
        times = _in_turns(sides, options, work, table)
        print(f"  {work:<16}{_shown(times, 'served', 'classic')} (asked: at most {MOST_RATIO})")


def planning(options: argparse.Namespace, folder: Path, stack: contextlib.ExitStack) -> None:
    older = stack.enter_context(_checked_out(options.before))
    sides = [
        _entered("now", folder, stack),
        _entered("before", folder, stack, PYTHONPATH=str(older / "src")),
    ]
    print(f"This Lakebed beside {options.before}")
    for work in SMALL:
        tables = {}
        for side in sides:
            tables[side.name] = folder / f"{side.name}_{work}"
            lakebed.write(tables[side.name], _rows(1000))
            side.ask(do="name", path=str(tables[side.name]), named=work)
        times = _in_turns(sides, options, work, tables, named=work)
        print(f"  {work:<16}{_shown(times, 'now', 'before')}", flush=True)


def _in_turns(
    sides: Sequence[Side],
    options: argparse.Namespace,
    work: str,
    at: Path | dict[str, Path],
    **more: Any,
) -> Times:
    times: Times = {side.name: [] for side in sides}
    for turn in range(-options.warm_up, options.rounds):
        for side in sides if turn % 2 else reversed(sides):
            path = at[side.name] if isinstance(at, dict) else at
            taken = side.run(work, path, **more)
            if turn >= 0:
                times[side.name].append(taken)
    return times


def _shown(times: Times, one: str, other: str) -> str:
    seconds = {name: _median(found) for name, found in times.items()}
    busy = {name: statistics.median(each for _, each in found) for name, found in times.items()}
    ratio = f"{seconds[one] / seconds[other]:5.2f}"
    processors = f", of processors {busy[one] / busy[other]:.2f}" if busy[other] else ""
    return f"{ratio}{processors}   {1000 * seconds[one]:.0f} ms to {1000 * seconds[other]:.0f} ms"


def _median(found: list[tuple[float, float]]) -> float:
    return statistics.median(seconds for seconds, _ in found)


def _entered(name: str, folder: Path, stack: contextlib.ExitStack, **environ: str) -> Side:
    side = _side(name, folder / f"side-{name}", **environ)
    stack.callback(side.close)
    return side


def _side(name: str, folder: Path, **environ: str) -> Side:
    folder.mkdir()
    settings = {
        "spark.master": "local[2]",
        "spark.driver.memory": "2g",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    return EntrySide(name, settings, folder, environ)


class EntrySide(Side):
    def __init__(
        self, name: str, settings: dict[str, str], folder: Path, environ: dict[str, str]
    ) -> None:
        self.folder = folder
        program = str(ROOT / "bench" / "_entry_side.py")
        command = [str(_python()), program, name, json.dumps(settings)]
        PeerProcess.__init__(self, name, command, folder / "errors", environ)


def _python() -> Path:
    return ROOT / ".venv" / "bin" / "python"


def _rows(count: int) -> pa.Table:
    days = ["mon", "tue"] * (count // 2)
    return pa.table({"id": range(count), "price": [1.5] * count, "day": days})


@contextlib.contextmanager
def _checked_out(revision: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "older"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run(
            [*git, "add", "--detach", str(folder), revision], check=True, capture_output=True
        )
        try:
            yield folder
        finally:
            subprocess.run([*git, "remove", "--force", str(folder)], check=True, env=os.environ)


if __name__ == "__main__":
    main()
