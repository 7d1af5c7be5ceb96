"""MERGE of a growing share of the rows, and into growing tables."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

import lakebed
from suite.measures import Results
from suite.peer_process import PeerProcess
from suite.rounds import Case, Context, run_cases
from suite.rows import FACTS, changing_rows
from suite.workloads.facts import table_facts

NAME = "micro-merge"
TITLE = "MERGE by share of rows and by table size"
ABOUT = (
    "A table of five columns in eight files; rows to merge are spread over all of it, one new row "
    "for ten changed ones. Deletion vectors are on for both Sparks; deltalake writes none."
)
BY_SHARE, BY_SIZE = "MERGE by share of rows", "MERGE of 1% by rows of the table"
FILES = 8
_ONE_PERCENT = 0.01
_PEERS = dict.fromkeys(("lakebed", "delta-spark", "deltalake"), "merge")


def run(context: Context) -> None:
    sizes = context.sizes
    rows = sizes.merge_rows[len(sizes.merge_rows) // 2]
    tables = {count: make_tables(context.folder, count) for count in sizes.merge_rows}
    check = table_facts(context, FACTS)
    cases = [
        Case(BY_SHARE, _PEERS, _merge(tables[rows], rows, share), "share of rows", share, 1, check)
        for share in sizes.merge_fractions
    ]
    cases += [
        Case(BY_SIZE, _PEERS, _merge(tables[count], count, _ONE_PERCENT), "rows", count, 1, check)
        for count in sizes.merge_rows
        if count != rows or _ONE_PERCENT not in sizes.merge_fractions
    ]
    run_cases(context, NAME, cases, rounds=sizes.rounds, warm_up=1, seconds=context.share(0.9))
    if _ONE_PERCENT in sizes.merge_fractions:
        for peer in _PEERS:
            _same(context.results, peer, rows)


def _same(results: Results, peer: str, rows: int) -> None:
    """One percent of the middle table is a point of both measures, and measured once."""
    found = results.of(NAME, BY_SHARE, peer, axis="share of rows", x=_ONE_PERCENT)
    same = results.of(NAME, BY_SIZE, peer, axis="rows", x=rows)
    same.samples, same.error = list(found.samples), found.error


def make_tables(folder: Path, rows: int) -> Path:
    """A table with vectors enabled and the same without, since deltalake cannot change the first;
    of even ids, so that odd ones are new."""
    made = folder / f"changing-{rows}"
    if made.exists():
        return made
    for kind, properties in (("vectors", {"delta.enableDeletionVectors": "true"}), ("plain", {})):
        for part in range(FILES):
            first, end = rows * part // FILES, rows * (part + 1) // FILES
            data = changing_rows(np.arange(first, end) * 2)
            # Properties are those of a table that is being created.
            lakebed.write(made / kind, data, properties=properties if part == 0 else {})
    return made


def table_for(made: Path, peer: str) -> Path:
    return made / ("plain" if peer == "deltalake" else "vectors")


def _merge(made: Path, rows: int, share: float) -> Any:
    source = made / f"source-{share:g}.parquet"
    pq.write_table(changing_rows(_ids(rows, share), merged=True), source)

    @contextlib.contextmanager
    def setup(peer: PeerProcess) -> Iterator[dict[str, Any]]:
        with peer.copy_of(table_for(made, peer.name)) as path:
            yield {"path": str(path), "source": str(source), "key": "t.id = s.id"}

    return setup


def _ids(rows: int, share: float) -> Any:
    """In no order, as rows arrive."""
    count = max(int(rows * share), 1)
    there = np.linspace(0, rows - 1, count).astype(np.int64) * 2
    new = np.linspace(0, rows - 1, max(count // 10, 1)).astype(np.int64) * 2 + 1
    ids = np.concatenate([np.unique(there), np.unique(new)])
    np.random.default_rng(7).shuffle(ids)
    return ids
