"""LHBench-like refresh: the update streams of TPC-H, as MERGEs into orders and lineitem.

tpchgen-cli makes no update sets, so they are made by the rule of TPC-H: its keys leave gaps, and
new orders go there. A set has 0.1% of the orders with their items: as many new ones as changed
ones to upsert, and as many to delete.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb

from suite.peer_process import PeerProcess
from suite.rounds import Case, Context, run_cases
from suite.workloads.facts import table_facts
from suite.workloads.tpch_load import tables_of

NAME = "refresh"
TITLE = "Refresh by MERGE"
ABOUT = (
    "As in LHBench: sets of changes are merged into the loaded TPC-H tables. Update sets are made "
    "by rule, as tpchgen-cli makes none: 0.1% of the orders and their items are new, as many have "
    "changed, as many are deleted. Deletion vectors are on for both Sparks; deltalake writes none."
)
UPSERT, DELETE = "upsert into {}", "delete from {}"
_KEYS = {
    "orders": "t.o_orderkey = s.o_orderkey",
    "lineitem": "t.l_orderkey = s.l_orderkey AND t.l_linenumber = s.l_linenumber",
}
_FACTS = {
    "orders": ("count(*)", "sum(o_orderkey)", "sum(o_totalprice)"),
    "lineitem": ("count(*)", "sum(l_orderkey)", "sum(l_quantity)"),
}
_PEERS = ("lakebed", "delta-spark", "deltalake")


def run(context: Context) -> None:
    scale = context.sizes.scales[-1]
    sets = context.folder / "refresh"
    sets.mkdir()
    _make_sets(context.folder / f"tpch-{scale:g}", sets)
    cases = []
    for table, key in _KEYS.items():
        for name, job in ((UPSERT, "merge"), (DELETE, "merge_delete")):
            source = sets / f"{table}-{job}.parquet"
            cases.append(
                Case(
                    name.format(table),
                    dict.fromkeys(_PEERS, job),
                    _copy(context, scale, table, {"source": str(source), "key": key}),
                    check=table_facts(context, _FACTS[table]),
                )
            )
    # MERGEs were warmed up by those of the workload before.
    rounds = context.sizes.rounds
    run_cases(context, NAME, cases, rounds=rounds, warm_up=0, seconds=context.share(0.9))


def _make_sets(data: Path, sets: Path) -> None:
    """Keys of TPC-H are 8 of every 32, so 8 more is the key of no order."""
    changed, new, dead = "% 4000 = 1", "% 4000 = 2", "% 4000 = 3"
    with duckdb.connect() as connection:
        for table, key, value in (
            ("orders", "o_orderkey", "o_totalprice"),
            ("lineitem", "l_orderkey", "l_quantity"),
        ):
            file = data / f"{table}.parquet"
            connection.execute(
                f"COPY (SELECT * REPLACE ({value} + 1 AS {value}) FROM '{file}' WHERE {key} "
                f"{changed} UNION ALL SELECT * REPLACE ({key} + 8 AS {key}) FROM '{file}' "
                f"WHERE {key} {new}) TO '{sets}/{table}-merge.parquet' (FORMAT parquet)"
            )
            keys = key if table == "orders" else f"{key}, l_linenumber"
            connection.execute(
                f"COPY (SELECT {keys} FROM '{file}' WHERE {key} {dead}) "
                f"TO '{sets}/{table}-merge_delete.parquet' (FORMAT parquet)"
            )


def _copy(context: Context, scale: float, table: str, arguments: dict[str, str]) -> Any:
    @contextlib.contextmanager
    def setup(peer: PeerProcess) -> Iterator[dict[str, Any]]:
        with peer.copy_of(tables_of(context, peer.name, scale) / table) as path:
            yield {"path": str(path), **arguments}

    return setup
