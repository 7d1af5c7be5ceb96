"""Opening, planning and skipping in tables of very many files: logs without data files."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from suite.peer_process import BENCH, PeerProcess
from suite.rounds import Case, Context, run_cases

NAME = "files"
TITLE = "Opening, planning and skipping"
ABOUT = (
    "A log of a checkpoint and five commits, with statistics, in 1,000 partitions; there are no "
    "data files, so nothing but the log counts. Each time at a path that nobody has seen, except "
    "where the table is known. Raw Parquet has no log and cannot take part."
)
LIST, PLAN = "open and list on Spark", "open and plan a query for one file on Spark"
PLAN_AGAIN = "plan a query on a known table on Spark"
ARROW_LIST, ARROW_SKIP = "open and list without Spark", "open and skip by partition without Spark"
_WHERE = "id BETWEEN 50000 AND 50010"
_DAY = "2021-03-04"
_SPARK, _ARROW = ("lakebed", "delta-spark"), ("lakebed", "deltalake")


def run(context: Context) -> None:
    sizes = context.sizes
    cases = []
    for count in sizes.file_counts:
        table = _log(context.folder, count)
        plan = {"where": _WHERE}
        skip = {"where": f"day = DATE '{_DAY}'", "partition": ["day", "=", _DAY]}
        for measure, peers, job, more, is_known in (
            (LIST, _SPARK, "list_files", {}, False),
            (PLAN, _SPARK, "plan", plan, False),
            (PLAN_AGAIN, _SPARK, "plan", plan, True),
            (ARROW_LIST, _ARROW, "arrow_list_files", {}, False),
            (ARROW_SKIP, _ARROW, "arrow_skip", skip, False),
        ):
            jobs = dict.fromkeys(peers, job)
            setup = _place(table, more, job if is_known else None)
            cases.append(Case(measure, jobs, setup, "files", count))
    run_cases(context, NAME, cases, rounds=sizes.rounds + 1, warm_up=1, seconds=context.share(0.8))


def _log(folder: Path, count: int) -> Path:
    path = folder / f"files-{count}"
    command = [sys.executable, str(BENCH / "million.py"), str(path), str(count)]
    subprocess.run(command, check=True, capture_output=True)
    return path


def _place(table: Path, arguments: dict[str, Any], first: str | None) -> Any:
    @contextlib.contextmanager
    def setup(peer: PeerProcess) -> Iterator[dict[str, Any]]:
        # Nobody writes here, so the log can be the same files under another path.
        path = peer.folder / f"files-{uuid.uuid4()}"
        shutil.copytree(table, path, copy_function=os.link)
        request = {"path": str(path), **arguments}
        if first is not None:
            peer.ask(first, **request)
        try:
            yield request
        finally:
            shutil.rmtree(path)

    return setup
