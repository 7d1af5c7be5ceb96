"""How figures are written."""

from __future__ import annotations

from suite.measures import Results, Series
from suite.workloads import (
    many_files,
    micro_merge,
    refresh,
    services,
    small_commits,
    streaming,
    tpch_load,
    vectors,
)

PEERS = {
    "lakebed": "Lakebed",
    "parquet": "raw Parquet",
    "delta-spark": "delta-spark",
    "deltalake": "deltalake",
    "duckdb": "DuckDB",
    "polars": "Polars",
}
OTHERS = [peer for peer in PEERS if peer != "lakebed"]
TITLES = {
    module.NAME: (module.TITLE, module.ABOUT)
    for module in (
        *(tpch_load, refresh, micro_merge, small_commits, many_files, vectors, services),
        streaming,
    )
}


def seconds(value: float) -> str:
    if value < 0.0995:
        return f"{value * 1000:.3g} ms"
    return f"{value:.3g} s" if value < 99.5 else f"{value:.0f} s"


def with_spread(series: Series) -> str:
    low, high = series.spread
    if len(series.samples) == 1:
        return f"{seconds(series.median)} (once)"
    return f"{seconds(series.median)} ({seconds(low)} to {seconds(high)})"


def times(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio >= 0.095 else f"{ratio:.3f}"


def size(series: Series) -> str:
    """Where on its axis; nothing if there is none."""
    if series.axis is None or series.x is None:
        return ""
    if series.axis.startswith("share"):
        return f"{series.x * 100:g}%"
    if series.axis == "scale factor":
        return f"SF {series.x:g}"
    return f"{series.x:,.0f} {series.axis}"


def peers_in(results: Results) -> list[str]:
    there = {series.peer for series in results.series}
    return [peer for peer in PEERS if peer in there]
