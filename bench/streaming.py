"""Streams of Lakebed beside those of delta-spark and of Spark's own Parquet files.

    ./run bench streaming           the workload `streaming` of the suite, in processes of its own
    ./run bench streaming --tiny    only whether it runs

The most memory of each process is that of streams alone, as nothing else has run in them. Other
options are those of `./run bench`.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from suite.cli import main
from suite.workloads import streaming

PEERS = ("lakebed", "delta-spark", "parquet")


def _report(arguments: list[str]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        chosen = ["--only", streaming.NAME, "--output", folder]
        if "--peers" not in arguments:
            chosen += ["--peers", *PEERS]
        status = main([*chosen, *arguments])
        for file in Path(folder).rglob("*.json"):
            results = json.loads(file.read_text(encoding="utf-8"))
            for each in results["memory"]:
                sizes = ", ".join(
                    f"{name} {each[name] / 2**20:.0f} MB" for name in ("python", "jvm")
                )
                print(f"most memory of {each['peer']}: {sizes}")
            for problem in results["problems"]:
                print(problem)
    return status


if __name__ == "__main__":
    sys.exit(_report(sys.argv[1:]))
