"""The log beside PyPI `deltalake`: opening and listing very many files, skipping, memory, appends.

    python bench/log.py                 a million files, and 10,000 appends
    python bench/log.py --files 100000  smaller

Each measure runs in a process of its own; rounds of the two readers alternate. Ratios are the
result, since absolute times depend on the machine.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROUNDS = 3
DAY = "2021-03-04"
WARM = 5


def lakebed_open(path: str) -> dict[str, Any]:
    import lakebed

    start = time.perf_counter()
    table = lakebed.open(path)
    files = table.files()
    listed = time.perf_counter() - start
    by_partition = _warm(lambda: table.files(where=f"day = DATE '{DAY}'").num_rows)
    peak = _peak_mib()
    by_statistics = _warm(lambda: table.files(where="id BETWEEN 5000000 AND 5001000").num_rows)
    return {
        "files": files.num_rows,
        "open and list": listed,
        "partition filter, warm": by_partition[0],
        "filtered": by_partition[1],
        "statistics filter, warm": by_statistics[0],
        "peak MiB": peak,
    }


def deltalake_open(path: str) -> dict[str, Any]:
    from deltalake import DeltaTable

    start = time.perf_counter()
    table = DeltaTable(path)
    files = table.file_uris()
    listed = time.perf_counter() - start
    only = [("day", "=", DAY)]
    by_partition = _warm(lambda: len(table.file_uris(file_pruning_predicate=only)))
    return {
        "files": len(files),
        "open and list": listed,
        "partition filter, warm": by_partition[0],
        "filtered": by_partition[1],
        "peak MiB": _peak_mib(),
    }


def appends(path: str) -> dict[str, Any]:
    """Milliseconds for an append at commit 10 and at commit 10,000, fresh and kept open."""
    import pyarrow as pa

    import lakebed

    row = pa.table({"id": [1], "name": ["one"]})
    result: dict[str, Any] = {}
    table = lakebed.write(path, row)
    for goal in (10, 10_000):
        while table.version < goal:
            table = table.write(row)
        kept, fresh = [], []
        for _ in range(40):
            start = time.perf_counter()
            table = table.write(row)
            kept.append((time.perf_counter() - start) * 1000)
            start = time.perf_counter()
            lakebed.write(path, row)
            fresh.append((time.perf_counter() - start) * 1000)
            table = table.refresh()
        for name, times in (("kept open", kept), ("by path", fresh)):
            result[f"{name} at {goal}, median"] = statistics.median(times)
            result[f"{name} at {goal}, mean"] = statistics.fmean(times)
    for name in ("kept open", "by path"):
        for kind in ("median", "mean"):
            later, early = result[f"{name} at 10000, {kind}"], result[f"{name} at 10, {kind}"]
            result[f"{name}, {kind}, 10000 / 10"] = later / early
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=1_000_000)
    parser.add_argument("--skip-appends", action="store_true")
    parser.add_argument("--json", type=Path, help="also write the results there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        results = {"open": compare(Path(folder) / "table", options.files)}
        if not options.skip_appends:
            results["append"] = run("appends", str(Path(folder) / "appended"))
            show("append, milliseconds", results["append"])
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


def compare(path: Path, files: int) -> dict[str, Any]:
    subprocess.run(
        [sys.executable, str(Path(__file__).with_name("million.py")), str(path), str(files)],
        check=True,
    )
    rounds: dict[str, list[dict[str, Any]]] = {"lakebed": [], "deltalake": []}
    for _ in range(ROUNDS):
        for name in rounds:
            rounds[name].append(run(f"{name}_open", str(path)))
    medians = {name: _medians(found) for name, found in rounds.items()}
    ours, theirs = medians["lakebed"], medians["deltalake"]
    if (ours["files"], ours["filtered"]) != (theirs["files"], theirs["filtered"]):
        raise SystemExit(f"the readers disagree: {ours} and {theirs}")
    ratios = {
        name: ours[name] / theirs[name]
        for name in ("open and list", "partition filter, warm", "peak MiB")
    }
    for name, found in medians.items():
        show(f"{name}, {files:,} files, seconds", found)
    show("lakebed / deltalake", ratios)
    return {**medians, "ratios": ratios}


def run(function: str, path: str) -> dict[str, Any]:
    command = [sys.executable, __file__, "--child", function, path]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def show(title: str, figures: dict[str, Any]) -> None:
    print(title)
    for name, value in figures.items():
        print(
            f"  {name:<36}{value:>14,.4f}"
            if isinstance(value, float)
            else f"  {name:<36}{value:>14,}"
        )


def _medians(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    return {name: statistics.median(each[name] for each in rounds) for name in rounds[0]}


def _warm(measure: Callable[[], int]) -> tuple[float, int]:
    count = measure()
    times = []
    for _ in range(WARM):
        start = time.perf_counter()
        measure()
        times.append(time.perf_counter() - start)
    return statistics.median(times), count


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        print(json.dumps(globals()[sys.argv[2]](sys.argv[3])))
    else:
        main()
