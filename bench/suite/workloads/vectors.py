"""What deletion vectors cost a scan, by the share of rows that they delete."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from suite.peer_process import PeerProcess
from suite.rounds import Case, Context, note_facts, run_cases
from suite.rows import FACTS
from suite.workloads.micro_merge import make_tables

NAME = "vectors"
TITLE = "Deletion vectors"
ABOUT = (
    "A scan of all columns of a table of which a share of the rows is deleted by vectors, "
    "scattered; Lakebed deleted them, and all read the same files. Spark makes one number of all "
    "rows, DuckDB and Polars hand them over."
)
SCAN, _AXIS = "scan by share of dead rows", "share of dead rows"
_PEERS = {"lakebed": "digest", "delta-spark": "digest", "duckdb": "scan", "polars": "scan"}
_TELLING = ("lakebed", "delta-spark", "duckdb")


def run(context: Context) -> None:
    sizes = context.sizes
    tables = {share: _deleted(context, share) for share in sizes.dead_shares}
    for share, table in tables.items():
        _compare(context, share, table)
    cases = [Case(SCAN, _PEERS, _at(table), _AXIS, share) for share, table in tables.items()]
    run_cases(
        context,
        NAME,
        cases,
        rounds=sizes.rounds + 2,
        warm_up=sizes.warm_up,
        seconds=context.share(0.8),
    )


def _compare(context: Context, share: float, table: Path) -> None:
    """Scans tell no facts: what each peer sees of the table is asked apart, before the clock."""
    key = (NAME, SCAN, share)
    for name in _TELLING:
        if name in context.peers and not context.is_over():
            answer = context.peers[name].ask("facts", path=str(table), expressions=list(FACTS))
            if "error" in answer:
                context.results.problems.append(f"{NAME}: {name} cannot read: {answer['error']}")
            else:
                note_facts(context, key, name, answer["facts"])


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
