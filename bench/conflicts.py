"""How many changes of rows conflict when 8 processes change the same few files at once.

    ./run bench conflicts
    ./run bench conflicts --changes 20 --rows 100000

With row-level resolution, and without as in open-source Delta. Each process is a client of one
Spark Connect server and makes random changes of three rows each, scattered over the table or side
by side. A change conflicts if it has to be planned again (files that it depends on have changed)
or is refused (somebody else has changed the same row). On Spark Connect nobody can see what a MERGE
compares, so it depends on all rows that others add; a DELETE or an UPDATE depends on those that the
statistics of new files do not rule out.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

import lakebed

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from testkit.servers.changing_writer import Kind, Plan, Shares, random_changes, started
from testkit.servers.connect_server import running_connect_server

KINDS: tuple[Kind, ...] = ("delete", "update", "merge")
FILES = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--writers", type=int, default=8, help="processes (default %(default)s)")
    parser.add_argument("--changes", type=int, default=10, help="of each (default %(default)s)")
    parser.add_argument("--rows", type=int, default=3000, help="in all (default %(default)s)")
    options = parser.parse_args()
    print(f"{options.writers} processes, {options.changes} changes each, {options.rows:,} rows")
    print(f"{'':17} {'':6} {'row-level resolution on':37} off")
    # Spark's progress bars would be drawn over the table.
    os.environ["PYSPARK_SUBMIT_ARGS"] = "--conf spark.ui.showConsoleProgress=false pyspark-shell"
    with running_connect_server() as server:
        for scattered in (True, False):
            on, off = (measure(server, options, scattered, each) for each in (True, False))
            show("scattered rows" if scattered else "rows side by side", on, off)


def show(rows: str, on: Shares, off: Shares) -> None:
    for kind in KINDS:
        print(f"{rows:17} {kind:6} {on.kinds.get(kind)!s:37} {off.kinds.get(kind)!s}")
    print(f"{rows:17} {'all':6} {on.all!s:37} {off.all!s}", flush=True)


def measure(server: str, options: argparse.Namespace, scattered: bool, row_level: bool) -> Shares:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        create(folder / "table", options.rows)
        with started(plans(server, folder / "table", options, scattered, row_level), folder) as all:
            for writer in all:
                if writer.process.wait() != 0:
                    sys.exit(writer.complaints)
            return Shares.of(report for each in all for report in each.reports())


def plans(
    server: str, table: Path, options: argparse.Namespace, scattered: bool, row_level: bool
) -> Iterator[Plan]:
    for number in range(options.writers):
        changes = random_changes(
            random.Random(number),
            number,
            options.changes,
            rows=options.rows,
            kinds=KINDS,
            scattered=scattered,
        )
        yield Plan(f"w{number}", server, str(table), row_level, changes)


def create(table: Path, rows: int) -> None:
    """Each file has ids from everywhere, so every change may meet every file."""
    for part in range(FILES):
        ids = list(range(part, rows, FILES))
        data = pa.table({"id": ids, "n": [0] * len(ids), "last": ["start"] * len(ids)})
        properties = {} if part else {"delta.enableDeletionVectors": "true"}
        lakebed.write(table, data, properties=properties)


if __name__ == "__main__":
    main()
