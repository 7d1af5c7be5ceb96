"""`python -m suite.peers NAME SETTINGS`: the process of a peer."""

from __future__ import annotations

import importlib
import json
import sys

from suite.peers.base import Peer, serve
from suite.setting import limit_cores

HOMES = {
    "lakebed": "lakebed_peer:Lakebed",
    "parquet": "parquet_peer:Parquet",
    "delta-spark": "delta_spark_peer:DeltaSpark",
    "deltalake": "deltalake_peer:Deltalake",
    "duckdb": "duckdb_peer:DuckDb",
    "polars": "polars_peer:Polars",
}


def _make() -> Peer:
    module, _, name = HOMES[sys.argv[1]].partition(":")
    kind = getattr(importlib.import_module(f"suite.peers.{module}"), name)
    settings = json.loads(sys.argv[2])
    limit_cores(int(settings["cores"]))
    peer: Peer = kind(settings)
    return peer


serve(_make)
