"""`./run bench`: Lakebed beside its peers, in one run on one machine.

    ./run bench            20 minutes: writes bench/results/quick.json and docs/benchmarks.md, .html
    ./run bench --full     an hour and more: larger tables, more rounds, a million files
    ./run bench --tiny     only whether everything runs; its figures mean nothing
    ./run bench --report   the pages again from the figures of the last run

Each peer is a process of its own, with the same Spark, memory and cores. Peers take turns, round by
round. A peer that is missing or fails is told in the report; the run goes on without it.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

from suite.measures import Results
from suite.peer_process import BENCH, PeerProcess
from suite.report.pages import write_pages
from suite.report.table import ratio_table
from suite.rounds import Context
from suite.setting import DELTA_SPARK, SPARK, machine, peer_python, peer_settings
from suite.sizes import BY_NAME, Sizes
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

ROOT = BENCH.parent
PEERS = ("lakebed", "parquet", "delta-spark", "deltalake", "duckdb", "polars")
WORKLOADS: dict[str, ModuleType] = {
    module.NAME: module
    for module in (
        *(tpch_load, micro_merge, refresh, small_commits, many_files, vectors, services),
        streaming,
    )
}
"""In this order: refresh changes what TPC-H has loaded, with MERGEs that are warm by then."""
PARTS = {
    "tpch": 54,
    "micro-merge": 9,
    "refresh": 9,
    "commits": 7,
    "files": 6,
    "vectors": 5,
    "services": 10,
    "streaming": 12,
}
"""Of the time. Each workload gets its part of what those before it have left, so none starves."""


def main(arguments: Sequence[str]) -> int:
    options = _options(arguments)
    sizes = BY_NAME[options.size]
    if options.minutes:
        sizes = dataclasses.replace(sizes, minutes=options.minutes)
    file = options.output / "bench" / "results" / f"{sizes.name}.json"
    if not options.report:
        results = _measure(options, sizes, file)
        print("\n" + ratio_table(results), flush=True)
    pages = write_pages(file, options.output / "docs")
    print(f"\nfigures: {file}\nreport:  {', '.join(str(page) for page in pages)}")
    return 0


def _measure(options: argparse.Namespace, sizes: Sizes, file: Path) -> Results:
    python = peer_python(ROOT, options.spark)  # to make it may take minutes, once
    start = time.monotonic()
    results = Results(about=machine(ROOT, sizes, options))
    with tempfile.TemporaryDirectory() as temporary, contextlib.ExitStack() as stack:
        folder = Path(temporary)
        peers = _started(options, python, folder, stack, results)
        context = Context(sizes, peers, results, folder, start + sizes.minutes * 60)
        for place, name in enumerate(options.only):
            context.begin(PARTS[name] / sum(PARTS[each] for each in options.only[place:]))
            _run_workload(context, name, WORKLOADS[name].run)
            results.about["seconds"] = round(time.monotonic() - start)
            _write(results, file)
        if tpch_load.NAME in options.only and context.left() > 0:
            context.begin(1)
            _run_workload(context, tpch_load.NAME, tpch_load.run_again)
            results.about["seconds"] = round(time.monotonic() - start)
            _write(results, file)
        _tell_costs(results)
    return results


def _tell_costs(results: Results) -> None:
    """What to look at when a run takes too long."""
    print("\nSeconds of each peer, with warm-up, set-up and checks:")
    for name, of in results.spent.items():
        parts = ", ".join(f"{peer} {seconds:.0f}" for peer, seconds in of.items())
        print(f"{sum(of.values()):5.0f}  {name}: {parts}")


def _run_workload(context: Context, name: str, run: Callable[[Context], None]) -> None:
    start = time.monotonic()
    for peer in context.peers.values():
        peer.forget_peaks()
    try:
        run(context)
    except Exception as error:  # noqa: BLE001  told in the report; the other workloads go on
        context.results.problems.append(f"{name} failed: {type(error).__name__}: {error}"[:500])
    for peer in context.peers.values():
        context.results.note_memory(name, peer.name, peer.peaks())
    print(f"{name}: {time.monotonic() - start:.0f} s", flush=True)


def _started(
    options: argparse.Namespace,
    python: Path,
    folder: Path,
    stack: contextlib.ExitStack,
    results: Results,
) -> dict[str, PeerProcess]:
    """Those that start; the others are told."""
    peers = [PeerProcess(n, python, peer_settings(n, options), folder) for n in options.peers]
    with ThreadPoolExecutor() as pool:
        reasons = list(pool.map(PeerProcess.start, peers))
    found, about = {}, results.about
    about.update(versions={}, skipped={})
    for peer, why in zip(peers, reasons, strict=True):
        if why is not None:
            print(f"{peer.name} is skipped: it did not start: {why}", flush=True)
            about["skipped"][peer.name] = why
            continue
        stack.callback(peer.close)
        found[peer.name] = peer
        about["versions"][peer.name] = peer.about["version"]
        about.update({key: peer.about[key] for key in ("spark", "java") if key in peer.about})
    if "lakebed" not in found:
        raise SystemExit("Lakebed itself did not start: see above")
    return found


def _write(results: Results, file: Path) -> None:
    """One line for each series: small, and a change of one shows as one."""
    content = results.to_json()
    parts = []
    for key, value in content.items():
        if isinstance(value, list) and value:
            lines = ",\n".join(f"  {json.dumps(each)}" for each in value)
            parts.append(f" {json.dumps(key)}: [\n{lines}\n ]")
        else:
            parts.append(f" {json.dumps(key)}: {json.dumps(value)}")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./run bench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    size = parser.add_mutually_exclusive_group()
    for name in ("full", "tiny"):
        size.add_argument(f"--{name}", dest="size", action="store_const", const=name)
    parser.set_defaults(size="quick")
    parser.add_argument("--report", action="store_true", help="only the pages")
    parser.add_argument("--only", nargs="+", choices=list(WORKLOADS), default=list(WORKLOADS))
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS))
    parser.add_argument("--minutes", type=float, help="no further case begins after these")
    parser.add_argument("--cores", type=int, default=2, help="for each peer")
    parser.add_argument("--memory", default="3g", help="for the heap of each Spark, and DuckDB")
    parser.add_argument("--spark", default=SPARK, help="its version, for all peers on Spark")
    parser.add_argument("--delta-spark", default=DELTA_SPARK, help="version of its JAR")
    parser.add_argument("--output", type=Path, help="the folder for bench/results and docs")
    options = parser.parse_args(arguments)
    if options.output is None:
        # Figures that mean nothing do not go into the repository.
        options.output = ROOT if options.size != "tiny" else Path(tempfile.gettempdir()) / "bench"
    if "refresh" in options.only and "tpch" not in options.only:
        parser.error("refresh changes what tpch has loaded: --only tpch refresh")
    if "lakebed" not in options.peers:
        parser.error("there is nothing to compare without lakebed")
    options.only = [name for name in WORKLOADS if name in options.only]
    return options


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
