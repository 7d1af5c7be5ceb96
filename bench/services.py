"""OPTIMIZE of Lakebed beside that of delta-spark and of `deltalake`.

    python bench/services.py                             10,000 small files, 10 million rows
    python bench/services.py --rows 200000 --files 300 --file-size 40000
    python bench/services.py --only compact              some of the works

Each side is a process of its own; Lakebed and delta-spark run on the same version of Spark, with
the same settings. They take turns, after a warm-up, on copies of the same tables, which pyarrow
and `deltalake` made, and are asked for files of the same size. A reader that belongs to no side
compares the rows before and after.

compact   small files are put together
zorder    all rows are arranged by two columns; then, how many files queries for some random rows
          can leave out, by the statistics in the log: for the values of both columns of a row, for
          a small box around it, and for the value of one column
cluster   the table is clustered by the same columns, then three times 1% is appended and clustered
          too: how much is rewritten for it, and what queries leave out at last. `deltalake` has no
          clustering; delta-spark is there for information, and only with --cluster-theirs, since it
          arranges the whole table each time

Queries for one of the columns are there for information: of n files in a square grid they must
read the square root of n, whoever arranged them.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import json
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import lakebed
from _sides import (
    LAKEBED,
    OTHER,
    Facts,
    Side,
    in_turns,
    parser_of,
    reader,
    settings_of,
    show_sides,
    started,
)

WORKS = ["compact", "zorder", "cluster"]
COLUMNS = ["customer", "day"]
LARGE_FILES = 16
"""How many the rows to arrange come in."""
SKIPPED = 0.9
"""The share of files that selective queries have to leave out."""
JUDGED = ["both", "box"]
"""The kinds of queries that this is asked of: those that name both columns."""
REWRITTEN = 2.0
"""How many times the appended bytes may be rewritten at most."""
APPENDS = 3
QUERIES = 20
"""Of each kind."""


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory() as temporary, contextlib.ExitStack() as stack:
        sides = started("_services_side.py", options, Path(temporary), stack)
        results: dict[str, Any] = {
            "rows": options.rows,
            "files": options.files,
            "file_size": options.file_size,
            "settings": settings_of(options),
            "sides": {side.name: side.about for side in sides},
        }
        what = f"{options.files:,} small files, {options.rows:,} rows"
        show_sides(f"{what}, files of {options.file_size / 1e6:g} MB", sides, options)
        bench = _Bench(options, sides, Path(temporary), stack.enter_context(reader()))
        for work in options.only:
            results[work] = getattr(bench, work)()
        results["memory"] = {side.name: side.peaks() for side in sides}
        _show_memory(results["memory"])
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


def _options() -> argparse.Namespace:
    parser = parser_of(__doc__, WORKS)
    parser.add_argument("--files", type=int, default=10_000, help="small ones, to be compacted")
    parser.add_argument("--file-rows", type=int, default=50, help="rows of a small file")
    parser.add_argument("--file-size", type=int, default=2_000_000, help="bytes that are asked for")
    parser.add_argument("--cluster-theirs", action="store_true", help="by delta-spark too")
    return parser.parse_args()


# --- works ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Bench:
    options: argparse.Namespace
    sides: Sequence[Side]
    folder: Path
    facts: Callable[[str], Facts]

    def compact(self) -> dict[str, Any]:
        rows = self.options.files * self.options.file_rows
        small = _make(self.folder / "small", rows, self.options.files)
        result = self._compare("compact", small, {})
        _show_times("compact", result)
        return result

    def zorder(self) -> dict[str, Any]:
        result = self._compare("zorder", self._large(), {"columns": COLUMNS})
        _show_times("zorder", result)
        for name, after in result["after"].items():
            _show_skipped(name, after["skipped"])
        return result

    def cluster(self) -> dict[str, Any]:
        result = {}
        for side in self.sides:
            if side.name == LAKEBED or (side.name != OTHER and self.options.cluster_theirs):
                result[side.name] = self._clustered(side)
                _show_cluster(side.name, result[side.name])
        return result

    def _large(self) -> Path:
        path = self.folder / "large"
        return path if path.exists() else _make(path, self.options.rows, LARGE_FILES)

    def _compare(self, work: str, table: Path, more: dict[str, Any]) -> dict[str, Any]:
        before = self.facts(_rows_of_files(table))
        times: dict[str, list[float]] = {side.name: [] for side in self.sides}
        busy_times: dict[str, list[float]] = {side.name: [] for side in self.sides}
        after: dict[str, Any] = {}
        for side, counts in in_turns(self.sides, self.options):
            with side.copy_of(table) as copy:
                seconds, busy = side.run(work, copy, size=self.options.file_size, **more)
                self._check(f"{work} by {side.name}", copy, before)
                after[side.name] = self._look(copy, work)
            if counts:
                times[side.name].append(seconds)
                busy_times[side.name].append(busy)
        medians = {name: statistics.median(each) for name, each in times.items()}
        processor = {name: statistics.median(each) for name, each in busy_times.items()}
        result = {"medians": medians, "times": times, "processor": processor, "after": after}
        others = [seconds for name, seconds in medians.items() if name != LAKEBED]
        if LAKEBED in medians and others:
            result["faster"] = min(others) / medians[LAKEBED]
        return result

    def _look(self, table: Path, work: str) -> dict[str, Any]:
        opened = lakebed.open(str(table))
        found: dict[str, Any] = {"files": opened.num_files, "bytes": opened.size_in_bytes}
        if work == "compact":
            if opened.num_files >= self.options.files:
                sys.exit(f"{opened.num_files} files are not fewer than {self.options.files}")
        else:
            found["skipped"] = _skipped(opened, self.options.rows)
        return found

    def _clustered(self, side: Side) -> dict[str, Any]:
        """The first run arranges all, the others what was appended."""
        size = self.options.file_size
        rows, more = self.options.rows, max(1, self.options.rows // 100)
        with side.copy_of(self._large()) as table:
            side.ask(do="cluster_by", path=str(table), columns=COLUMNS)
            first = side.run("compact", table, size=size)[0]
            runs = []
            for number in range(APPENDS):
                start = rows + number * more
                new = _arrow(start, start + more)
                known = lakebed.write(str(table), new, mode="append").version
                seconds = side.run("compact", table, size=size)[0]
                appended, rewritten = _added(table, known), _rewritten_after(table, known)
                runs.append({"seconds": seconds, "appended": appended, "rewritten": rewritten})
            wanted = _facts_of(_expected(self._large(), rows, more))
            self._check(f"clustering by {side.name}", table, self.facts(wanted))
            found = self._look(table, "cluster")
        return {"seconds": first, "runs": runs, **found}

    def _check(self, what: str, table: Path, expected: Facts) -> None:
        found = self.facts(_facts_of(f"FROM delta_scan('{table}')"))
        if found != expected:
            sys.exit(f"{what}: {found} instead of {expected}")


# --- rows ----------------------------------------------------------------------------------------


def _arrow(first: int, end: int) -> pa.Table:
    """Rows whose customers and days are in no order and have nothing to do with each other."""
    ids = np.arange(first, end)
    customer = _scattered(ids, 1) % CUSTOMERS
    day = FIRST_DAY + _scattered(ids, 2) % DAYS
    names = np.char.add("name ", (_scattered(ids, 3) % 5000).astype(str))
    return pa.table(
        {
            "id": pa.array(ids),
            "customer": pa.array(customer.astype("int64")),
            "day": pa.array(day.astype("int32")).cast(pa.date32()),
            "price": pa.array((_scattered(ids, 4) % 1_000_000) * 0.25),
            "name": pa.array(names.tolist(), pa.string()),
        }
    )


def _scattered(ids: Any, salt: int) -> Any:
    """Numbers that look random, the same for the same ids on every machine."""
    mixed = (ids.astype("uint64") + np.uint64(salt << 40)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (mixed ^ (mixed >> np.uint64(31))) >> np.uint64(1)


CUSTOMERS, DAYS = 1_000_000, 1_000
FIRST_DAY = 20_454
"""1 January 2026, in days since 1970."""


def _make(path: Path, rows: int, files: int) -> Path:
    """A table of so many files, in one commit."""
    from deltalake import Schema
    from deltalake.transaction import create_table_with_add_actions

    path.mkdir()
    adds = [
        _file(path / f"part-{number:05}.parquet", part)
        for number, part in enumerate(_parts(rows, files))
    ]
    schema = Schema.from_arrow(_arrow(0, 1).schema)
    create_table_with_add_actions(str(path), schema, adds, "error", [])
    return path


def _parts(rows: int, files: int) -> Iterator[pa.Table]:
    """In pieces of some files each: few calls, and little memory."""
    starts = [rows * number // files for number in range(files + 1)]
    for first in range(0, files, 100 if files > 100 else 1):
        last = min(files, first + (100 if files > 100 else 1))
        piece = _arrow(starts[first], starts[last])
        for number in range(first, last):
            yield piece.slice(starts[number] - starts[first], starts[number + 1] - starts[number])


def _file(path: Path, rows: pa.Table) -> Any:
    from deltalake.transaction import AddAction

    pq.write_table(rows, path)
    lows, highs = {}, {}
    for name in rows.column_names:
        extremes = pc.min_max(rows.column(name)).as_py()
        lows[name], highs[name] = extremes["min"], extremes["max"]
    stats = {
        "numRecords": rows.num_rows,
        "minValues": lows,
        "maxValues": highs,
        "nullCount": dict.fromkeys(rows.column_names, 0),
    }
    about = path.stat()
    text = json.dumps(stats, default=datetime.date.isoformat)
    return AddAction(path.name, about.st_size, {}, int(about.st_mtime * 1000), True, text)


def _facts_of(rows: str) -> str:
    return f"SELECT count(*), sum(hash(id, customer, day, price, name)) FROM ({rows})"


def _rows_of_files(table: Path) -> str:
    """Of a table that nothing was removed from."""
    return _facts_of(f"FROM read_parquet('{table}/*.parquet')")


def _expected(table: Path, rows: int, more: int) -> str:
    """The rows of the files, and those that were appended."""
    appended = table.parent / "appended.parquet"
    if not appended.exists():
        pq.write_table(_arrow(rows, rows + APPENDS * more), appended)
    return f"FROM read_parquet(['{table}/*.parquet', '{appended}'])"


# --- what the log says ---------------------------------------------------------------------------


def _skipped(table: Any, rows: int) -> dict[str, float]:
    """The share of the files that queries of each kind leave out, the mean of some."""
    total = table.num_files
    found: dict[str, list[float]] = {}
    for number in range(QUERIES):
        place = rows * number // QUERIES
        row = _arrow(place, place + 1).to_pylist()[0]
        for kind, where in _queries(row["customer"], row["day"]).items():
            share = 1 - table.files(where).num_rows / total
            found.setdefault(kind, []).append(share)
    return {kind: statistics.mean(shares) for kind, shares in found.items()}


def _queries(customer: int, day: datetime.date) -> dict[str, str]:
    """Two thousandths of the range of each column around a value of it are a small box."""
    margin = CUSTOMERS // 1000
    before, after = day - datetime.timedelta(1), day + datetime.timedelta(1)
    return {
        "both": f"customer = {customer} AND day = DATE '{day}'",
        "box": f"customer BETWEEN {customer - margin} AND {customer + margin} "
        f"AND day BETWEEN DATE '{before}' AND DATE '{after}'",
        "customer": f"customer = {customer}",
        "day": f"day = DATE '{day}'",
    }


def _added(table: Path, version: int) -> int:
    """The bytes of the files that a commit adds."""
    commit = (table / "_delta_log" / f"{version:020}.json").read_text().splitlines()
    return sum(action["add"]["size"] for action in map(json.loads, commit) if "add" in action)


def _rewritten_after(table: Path, version: int) -> int:
    newest = lakebed.open(str(table)).version
    return sum(_added(table, number) for number in range(version + 1, newest + 1))


# --- showing -------------------------------------------------------------------------------------


def _show_times(work: str, result: dict[str, Any]) -> None:
    times = "  ".join(f"{name} {seconds:7.3f} s" for name, seconds in result["medians"].items())
    verdict = ""
    if "faster" in result:
        verdict = f"  {result['faster']:5.2f} times as fast as the faster, asked 1"
        verdict += _word(result["faster"] >= 1)
    print(f"{work:8} {times}{verdict}", flush=True)
    for name, after in result["after"].items():
        busy = f"{result['processor'][name]:7.2f} s of processors"
        print(f"         {name:12} {busy}; {_size(after)}", flush=True)


def _show_cluster(name: str, result: dict[str, Any]) -> None:
    print(f"cluster  {name:12} all rows {result['seconds']:7.3f} s", flush=True)
    for run in result["runs"]:
        ratio = run["rewritten"] / run["appended"]
        parts = (
            f"appended {run['appended'] / 1e6:.1f} MB, rewritten {run['rewritten'] / 1e6:.1f} MB"
        )
        verdict = f", {ratio:.2f} times"
        if name == LAKEBED:
            verdict += f", asked {REWRITTEN:g} at most" + _word(ratio <= REWRITTEN)
        print(f"         {name:12} {run['seconds']:7.3f} s; {parts}{verdict}", flush=True)
    print(f"         {name:12} {_size(result)}", flush=True)
    _show_skipped(name, result["skipped"])


def _show_skipped(name: str, skipped: dict[str, float]) -> None:
    parts = {kind: f"{kind} {100 * share:.1f}%" for kind, share in skipped.items()}
    judged = ", ".join(parts[kind] for kind in JUDGED)
    others = ", ".join(text for kind, text in parts.items() if kind not in JUDGED)
    verdict = ""
    if name == LAKEBED:
        reached = min(skipped[kind] for kind in JUDGED) >= SKIPPED
        verdict = f", asked {100 * SKIPPED:g}%" + _word(reached)
    print(
        f"         {name:12} files skipped: {judged}{verdict}  (one column: {others})", flush=True
    )


def _show_memory(memory: dict[str, dict[str, int]]) -> None:
    for name, peaks in memory.items():
        parts = ", ".join(f"{part} {peak / 1e6:,.0f} MB" for part, peak in peaks.items())
        print(f"memory   {name:12} {parts or 'unknown'}", flush=True)


def _size(after: dict[str, Any]) -> str:
    return f"{after['files']} files, {after['bytes'] / 1e6:.1f} MB"


def _word(reached: bool) -> str:
    return "  ok" if reached else "  MISSED"


if __name__ == "__main__":
    main()
