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
YOUNG, OLD = 10, 10_000
YOUNG_TABLES = 10


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
    """Milliseconds for an append at about commit 10 and at about commit 10,000.

    Appends to young tables and to the old one alternate, so that both meet the same machine; the
    means have the checkpoints in them that fall due.
    """
    import pyarrow as pa

    import lakebed

    row = pa.table({"id": [1], "name": ["one"]})
    folder = Path(path)
    old = lakebed.write(folder / "old", row)
    while old.version < OLD:
        old = old.write(row)
    times: dict[str, list[float]] = {}
    for number in range(YOUNG_TABLES):
        kept, by_path = (_young(folder / f"{kind}-{number}", row) for kind in ("kept", "path"))
        for _ in range(10):
            kept = _timed(times, f"kept open at {YOUNG}", lambda t=kept: t.write(row))
            old = _timed(times, f"kept open at {OLD}", lambda t=old: t.write(row))
            _timed(times, f"by path at {YOUNG}", lambda t=by_path: lakebed.write(t.url, row))
            _timed(times, f"by path at {OLD}", lambda: lakebed.write(folder / "old", row))
            old = old.refresh()
    return _append_figures(times)


def _young(path: Path, row: Any) -> Any:
    import lakebed

    table = lakebed.write(path, row)
    while table.version < YOUNG - 5:
        table = table.write(row)
    return table


def _timed(times: dict[str, list[float]], name: str, work: Callable[[], Any]) -> Any:
    start = time.perf_counter()
    result = work()
    times.setdefault(name, []).append((time.perf_counter() - start) * 1000)
    return result


def _append_figures(times: dict[str, list[float]]) -> dict[str, Any]:
    figures = {f"{name}, median": statistics.median(found) for name, found in times.items()}
    figures |= {f"{name}, mean": statistics.fmean(found) for name, found in times.items()}
    for way in ("kept open", "by path"):
        for kind in ("median", "mean"):
            later, early = figures[f"{way} at {OLD}, {kind}"], figures[f"{way} at {YOUNG}, {kind}"]
            figures[f"{way}, {kind}, {OLD} / {YOUNG}"] = later / early
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=1_000_000)
    parser.add_argument("--skip-appends", action="store_true")
    parser.add_argument("--only-appends", action="store_true")
    parser.add_argument("--json", type=Path, help="also write the results there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        results: dict[str, Any] = {}
        if not options.only_appends:
            results["open"] = compare(Path(folder) / "table", options.files)
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
