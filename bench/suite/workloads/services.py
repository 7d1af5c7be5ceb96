"""OPTIMIZE, Z-order and VACUUM."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

import lakebed
from suite.peer_process import PeerProcess
from suite.rounds import Case, Context, run_cases
from suite.rows import FACTS, changing_rows
from suite.workloads.facts import table_facts
from suite.workloads.micro_merge import make_tables

NAME = "services"
TITLE = "OPTIMIZE, Z-order, VACUUM"
ABOUT = (
    "Compaction of small files of 100 rows into files of 2 MB; Z-order of a table by two columns; "
    "VACUUM of the files that a compaction has left behind, by delta-spark once and at one size, "
    "as it takes more than twenty seconds."
)
COMPACT, ZORDER, VACUUM = "compact small files", "Z-order by two columns", "VACUUM of dead files"
FILE_SIZE = 2_000_000
ROWS_PER_FILE = 100
_PEERS = ("lakebed", "delta-spark", "deltalake")


def run(context: Context) -> None:
    sizes = context.sizes
    check = table_facts(context, FACTS)
    cases = []
    for count in sizes.small_files:
        small = _small_files(context.folder, count)
        dead = _dead_files(context, small, count)
        jobs = dict.fromkeys(_PEERS, "compact")
        setup = _copy(small, {"size": FILE_SIZE})
        cases.append(Case(COMPACT, jobs, setup, "files", count, 1, check))
        # delta-spark takes more than twenty seconds for each.
        slow = "delta-spark"
        peers = [peer for peer in _PEERS if peer != slow or count == sizes.small_files[0]]
        jobs = dict.fromkeys(peers, "vacuum")
        cases.append(Case(VACUUM, jobs, _copy(dead, {}), "files", count, 1, check, once={slow}))
    for rows in sizes.zorder_rows:
        jobs = dict.fromkeys(_PEERS, "zorder")
        table = make_tables(context.folder, rows) / "plain"
        setup = _copy(table, {"size": FILE_SIZE, "columns": ["shop", "at"]})
        cases.append(Case(ZORDER, jobs, setup, "rows", rows, 1, check))
    run_cases(context, NAME, cases, rounds=sizes.rounds, warm_up=1, seconds=context.share(0.9))


def _small_files(folder: Path, count: int) -> Path:
    path = folder / f"small-{count}"
    path.mkdir()
    for number in range(count):
        first = number * ROWS_PER_FILE
        rows = changing_rows(np.arange(first, first + ROWS_PER_FILE))
        pq.write_table(rows, path / f"part-{number:06}.parquet", store_schema=False)
    lakebed.convert(path)
    return path


def _dead_files(context: Context, small: Path, count: int) -> Path:
    path = context.folder / f"vacuum-{count}"
    shutil.copytree(small, path)
    answer = context.peers["lakebed"].ask("compact", path=str(path), size=FILE_SIZE)
    if "error" in answer:
        raise RuntimeError(answer["error"])
    return path


def _copy(table: Path, arguments: dict[str, Any]) -> Any:
    @contextlib.contextmanager
    def setup(peer: PeerProcess) -> Iterator[dict[str, Any]]:
        with peer.copy_of(table) as path:
            yield {"path": str(path), **arguments}

    return setup
