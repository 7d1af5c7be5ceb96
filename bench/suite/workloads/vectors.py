"""What deletion vectors cost a scan, by the share of rows that they delete."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from suite.peer_process import PeerProcess
from suite.rounds import Case, Context, run_cases
from suite.rows import FACTS
from suite.workloads.micro_merge import make_tables

NAME = "vectors"
TITLE = "Deletion vectors"
ABOUT = (
    "A scan of all columns of a table of which a share of the rows is deleted by vectors, "
    "scattered; Lakebed deleted them, and all read the same files. Spark makes one number of all "
    "rows, DuckDB and Polars hand them over."
)
SCAN = "scan by share of dead rows"
_PEERS = {"lakebed": "digest", "delta-spark": "digest", "duckdb": "scan", "polars": "scan"}
_TELLING = ("lakebed", "delta-spark", "duckdb")


def run(context: Context) -> None:
    sizes = context.sizes
    cases = []
    for share in sizes.dead_shares:
        table = _deleted(context, share)
        cases.append(Case(SCAN, _PEERS, _at(table), "share of dead rows", share))
        # Scans tell no facts: what each peer sees of the table is asked apart.
        cases.append(Case("facts", dict.fromkeys(_TELLING, "facts"), _facts(table), None, share))
    scans, facts = cases[::2], cases[1::2]
    run_cases(context, NAME, facts, rounds=1, warm_up=0, seconds=context.share(0.03))
    context.results.series = [
        series
        for series in context.results.series
        if (series.workload, series.measure) != (NAME, "facts") or series.error
    ]
    run_cases(
        context,
        NAME,
        scans,
        rounds=sizes.rounds + 2,
        warm_up=sizes.warm_up,
        seconds=context.share(0.05),
    )


def _deleted(context: Context, share: float) -> Path:
    whole = make_tables(context.folder, context.sizes.vector_rows) / "vectors"
    path = context.folder / f"dead-{share:g}"
    shutil.copytree(whole, path)
    if share:
        # Ids are even; in steps of a prime number, so that they are scattered.
        where = f"(id div 2) * 7919 % 1000 < {share * 1000:g}"
        answer = context.peers["lakebed"].ask("delete", path=str(path), where=where)
        if "error" in answer:
            raise RuntimeError(answer["error"])
    return path


def _at(table: Path) -> Any:
    @contextlib.contextmanager
    def setup(peer: PeerProcess) -> Iterator[dict[str, Any]]:  # noqa: ARG001
        yield {"path": str(table)}

    return setup


def _facts(table: Path) -> Any:
    @contextlib.contextmanager
    def setup(peer: PeerProcess) -> Iterator[dict[str, Any]]:  # noqa: ARG001
        yield {"path": str(table), "expressions": list(FACTS)}

    return setup
