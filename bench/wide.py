"""Tables with very many columns, beside plain Parquet files: time and memory by their number.

    python bench/wide.py                              all of it
    python bench/wide.py --only spark                 Lakebed on Spark, beside Spark's own Parquet
    python bench/wide.py --columns 1000 8000          with so many columns on Spark
    python bench/wide.py --profile                    also what Python did there, in milliseconds

Each side and number of columns has a process of its own, which works once to warm up with a table
of ten columns. A third of the columns are whole numbers, doubles and strings each.

    create    a table of 8 rows
    append    one row
    column    one column of all rows
    rows      SELECT * of 5 rows

`--memory` is the heap of Spark, `--seconds` how long a side may take with one number of columns.
A side that runs out of either says so. On Spark the rows are in a DataFrame before the clock runs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORKS = ("create", "append", "column", "rows")
SIDES = {"spark": ("lakebed", "parquet"), "python": ("standalone", "pyarrow")}
COLUMNS = {"spark": (1_000, 8_000, 32_000), "python": (1_000, 8_000, 32_000, 100_000)}
Found = dict[str, float | str]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="*", choices=list(SIDES), default=list(SIDES))
    parser.add_argument("--sides", nargs="*", help="some of the sides")
    parser.add_argument("--columns", type=int, nargs="*")
    parser.add_argument("--memory", default="4g")
    parser.add_argument("--seconds", type=int, default=400)
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    for group in options.only:
        sides = [side for side in SIDES[group] if side in (options.sides or SIDES[group])]
        print(f"{'':12}{'columns':>9}" + "".join(f"{work:>10}" for work in WORKS), end="")
        print("   seconds; megabytes at most", flush=True)
        for count in options.columns or COLUMNS[group]:
            for side in sides:
                _show(side, count, _measured(side, count, options))


def _measured(side: str, count: int, options: argparse.Namespace) -> Found:
    """The seconds of each work that came to its end, and how it ended."""
    program = str(ROOT / "bench" / "_wide_side.py")
    given = {"memory": options.memory, "profile": options.profile}
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, program, side, str(count), folder, json.dumps(given)]
        with (Path(folder) / "errors").open("w+") as errors:
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=errors, text=True, env=os.environ
            )
            try:
                output, _ = process.communicate(timeout=options.seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                output, _ = process.communicate()
                return _found(output) | {"end": f"more than {options.seconds} s"}
            found = _found(output)
            if process.returncode != 0 and "end" not in found:
                errors.seek(0)
                found["end"] = (errors.read().strip().splitlines() or ["killed"])[-1][:80]
            return found


def _found(output: str) -> Found:
    found: Found = {}
    for line in output.splitlines():
        if line.startswith("{"):
            found.update(json.loads(line))
        else:
            print(line)
    return found


def _show(side: str, count: int, found: Found) -> None:
    times = "".join(f"{found[work]:>10.2f}" if work in found else f"{'-':>10}" for work in WORKS)
    print(f"{side:12}{count:>9,}{times}   {found.get('memory', '')} {found.get('end', '')}")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
