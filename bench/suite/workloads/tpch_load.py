"""TPC-H: loading its tables, its 22 queries, and a scan of its largest table."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from suite.measures import total
from suite.peer_process import PeerProcess
from suite.rounds import Case, Context, run_cases
from suite.tpch import QUERIES, generate

NAME = "tpch"
TITLE = "TPC-H"
ABOUT = (
    "Tables by tpchgen-cli, loaded from Parquet by each peer into files of its own; then the 22 "
    "queries, each asked of all peers before the next one. DuckDB and Polars read the tables that "
    "Lakebed wrote; deltalake answers queries with DataFusion. Answers are compared."
)
LOAD, TOTAL, SCAN = "load 8 tables", "total of 22 queries", "scan of lineitem, all columns"
AXIS = "scale factor"
_WRITERS = ("lakebed", "parquet", "delta-spark", "deltalake")
_READERS = (*_WRITERS, "duckdb")
_SCANNERS = ("lakebed", "parquet", "delta-spark", "duckdb", "polars")


def run(context: Context) -> None:
    sizes = context.sizes
    for number, scale in enumerate(sizes.scales):
        is_first, is_last = number == 0, scale == sizes.scales[-1]
        source = generate(context.folder, scale)
        load = Case(LOAD, dict.fromkeys(_WRITERS, "load"), _into(source, scale), axis=AXIS, x=scale)
        # The small load warms up for the large one. All that follows needs what is loaded here.
        run_cases(
            context,
            NAME,
            [load],
            rounds=sizes.loads if is_last else 1,
            warm_up=int(is_first),
            seconds=context.share(0.25),
        )
        run_cases(
            context,
            NAME,
            _queries(context, scale, _READERS),
            rounds=sizes.query_rounds if is_last else 1,
            warm_up=int(is_first),
            seconds=context.share(0.6),
        )
    _add_up(context)
    scan = Case(SCAN, dict.fromkeys(_SCANNERS, "scan"), _table(context, sizes.scales[-1]))
    run_cases(context, NAME, [scan], rounds=sizes.rounds + 1, warm_up=1, seconds=context.share(0.1))


def run_again(context: Context) -> None:
    """When all else is done: more rounds at the last scale, by those whose ratio counts most."""
    scale = context.sizes.scales[-1]
    for peers in (("lakebed", "parquet"), ("lakebed", "parquet", "delta-spark")):
        if context.left() > 0:
            cases = _queries(context, scale, peers)
            run_cases(context, NAME, cases, rounds=1, warm_up=0, seconds=context.left())
    _add_up(context)


def _add_up(context: Context) -> None:
    total(context.results, NAME, [f"query {number}" for number in QUERIES], TOTAL)


def tables_of(context: Context, peer: str, scale: float) -> Path:
    """Where the tables are that a peer reads."""
    owner = peer if peer in _WRITERS else "lakebed"
    return context.folder / owner / f"tables-{scale:g}"


def _into(source: Path, scale: float) -> Any:
    @contextlib.contextmanager
    def setup(peer: PeerProcess) -> Iterator[dict[str, Any]]:
        target = peer.folder / f"tables-{scale:g}"
        shutil.rmtree(target, ignore_errors=True)
        yield {"source": str(source), "target": str(target)}

    return setup


def _table(context: Context, scale: float) -> Any:
    @contextlib.contextmanager
    def setup(peer: PeerProcess) -> Iterator[dict[str, Any]]:
        yield {"path": str(tables_of(context, peer.name, scale) / "lineitem")}

    return setup


def _queries(context: Context, scale: float, peers: Sequence[str]) -> list[Case]:
    opened: dict[str, int | None] = {}

    def case(number: int) -> Case:
        @contextlib.contextmanager
        def setup(peer: PeerProcess) -> Iterator[dict[str, Any]]:
            # Names of tables are lost with a process that had to be started again.
            if peer.life is None or opened.get(peer.name) != peer.life:
                _open_tables(context, peer, scale)
                opened[peer.name] = peer.life
            yield {"number": number}

        jobs = dict.fromkeys(peers, "query")
        # In a session queries follow each other; to tidy up before each would take a minute.
        is_first = number == QUERIES[0]
        return Case(f"query {number}", jobs, setup, axis=AXIS, x=scale, settled=is_first)

    return [case(number) for number in QUERIES]


def _open_tables(context: Context, peer: PeerProcess, scale: float) -> None:
    answer = peer.ask("tables", folder=str(tables_of(context, peer.name, scale)))
    if "error" in answer:
        raise RuntimeError(f"its tables cannot be opened: {answer['error']}")
