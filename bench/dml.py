"""DELETE, UPDATE and MERGE of Lakebed beside those of delta-spark and of `deltalake`.

    python bench/dml.py --sides standalone deltalake --rows 250000     without Spark

    python bench/dml.py                        10 million rows
    python bench/dml.py --rows 200000          smaller
    python bench/dml.py --only merge           some of the commands
    python bench/dml.py --conf spark.sql.shuffle.partitions=8

Each side is a process of its own; Lakebed and delta-spark run on the same version of Spark, with
the same settings, on tables with deletion vectors that each wrote itself from the same rows. They
take turns, after a warm-up; each round changes a fresh copy of the table, and what became of it is
compared, by a reader that belongs to no side, with the same change computed without a table.
`deltalake` has neither Spark nor a way to write vectors: Lakebed without Spark is compared with it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from _sides import (
    ALONE,
    LAKEBED,
    OTHER,
    SIDES,
    THEIRS,
    Facts,
    Side,
    in_turns,
    parser_of,
    reader,
    settings_of,
    show_sides,
    started,
)

FASTER = 1.5
"""How many times faster than delta-spark is asked for."""
MOST_OF_OTHER = {1_000_000: 0.5, 4_000_000: 0.7}
"""Of deltalake's time without Spark, by the number of rows up to which that is asked for."""
MOST_PYTHON = 1 << 30
"""Of the memory of the driver: what Lakebed's Python may take. Java is bounded by its heap."""

_MERGED_AND_ABSENT = "id % 100 = 42 OR id % 1000 = 999"
_PLAIN = "id, id * 0.25 AS price, 'name ' || id % 5000 AS name"
AFTER = {
    "merge": f"""
        SELECT id, if({_MERGED_AND_ABSENT}, id * 0.25 + 0.5, id * 0.25) AS price,
               if({_MERGED_AND_ABSENT}, 'merged ' || id % 7919, 'name ' || id % 5000) AS name
        FROM all_ids WHERE id % 1000 <> 999 OR id < (SELECT max(id) FROM ids)""",
    "delete": f"SELECT {_PLAIN} FROM ids WHERE id % 100 <> 7",
    "update": """
        SELECT id, id * 0.25 + if(id % 100 = 13, 1, 0) AS price,
               'name ' || id % 5000 || if(id % 100 = 13, '!', '') AS name
        FROM ids""",
}
"""What each command makes of the rows; the other columns follow from the id."""


def main() -> None:
    options = parser_of(__doc__, list(AFTER), [*SIDES, ALONE]).parse_args()
    with tempfile.TemporaryDirectory() as temporary, contextlib.ExitStack() as stack:
        sides = started("_dml_side.py", options, Path(temporary), stack)
        results: dict[str, Any] = {
            "rows": options.rows,
            "settings": settings_of(options),
            "sides": {side.name: side.about for side in sides},
        }
        show_sides(f"{options.rows:,} rows", sides, options)
        for side in sides:
            side.ask(do="make", table=_table(side), source=_source(side), rows=options.rows)
            side.forget_peaks()
        with reader() as facts:
            for work in options.only:
                expected = facts(_expected(work, options.rows))
                results[work] = _compare(work, sides, options, facts, expected)
                _show(work, results[work])
        results["memory"] = {side.name: side.peaks() for side in sides}
        _show_memory(results["memory"])
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


def _table(side: Side) -> str:
    return str(side.folder / "table")


def _source(side: Side) -> str:
    """The rows to merge."""
    return str(side.folder / "source")


# --- measuring -----------------------------------------------------------------------------------


def _compare(
    work: str,
    sides: Sequence[Side],
    options: argparse.Namespace,
    facts: Callable[[str], Facts],
    expected: Facts,
) -> dict[str, Any]:
    times: dict[str, list[float]] = {side.name: [] for side in sides}
    busy_times: dict[str, list[float]] = {side.name: [] for side in sides}
    commits = {}
    for side, counts in in_turns(sides, options):
        with side.copy_of(Path(_table(side))) as table:
            seconds, busy = side.run(work, table, source=_source(side))
            found = facts(_found(table))
            commits[side.name] = _last_commit(table)
        if found != expected:
            sys.exit(f"{work} by {side.name}: {found} instead of {expected}")
        if counts:
            times[side.name].append(seconds)
            busy_times[side.name].append(busy)
    medians = {name: statistics.median(each) for name, each in times.items()}
    result: dict[str, Any] = {"medians": medians, "times": times, "commits": commits}
    result["processor"] = {name: statistics.median(each) for name, each in busy_times.items()}
    if LAKEBED in medians and THEIRS in medians:
        result["faster"] = medians[THEIRS] / medians[LAKEBED]
    if ALONE in medians and OTHER in medians:
        result["of other"] = medians[ALONE] / medians[OTHER]
        limits = [most for rows, most in MOST_OF_OTHER.items() if options.rows <= rows]
        result["asked of other"] = limits[0] if limits else None
    return result


def _found(table: Path) -> str:
    columns = 'id, shop, price, name, epoch_us("at") AS moment, day'
    return _facts_of(f"SELECT {columns} FROM delta_scan('{table}')")


def _expected(work: str, rows: int) -> str:
    return f"""
        WITH ids AS (SELECT n + n // 999 AS id FROM range({rows}) AS t(n)),
             all_ids AS (SELECT n AS id FROM range({rows} + {rows} // 999) AS t(n)),
             after AS ({AFTER[work]})
        {
        _facts_of(
            "SELECT id, (id % 1000)::INTEGER AS shop, price::DOUBLE AS price, name,"
            "(1700000000 + id) * 1000000 AS moment,"
            "DATE '2026-01-01' + (id % 365)::INTEGER AS day FROM after"
        )
    }"""


def _facts_of(rows: str) -> str:
    return f"SELECT count(*), sum(hash(id, shop, price, name, moment, day)) FROM ({rows})"


def _last_commit(table: Path) -> dict[str, int]:
    """Whether rows were marked or copied, by the newest commit itself."""
    newest = max((table / "_delta_log").glob("*.json"))
    actions = [json.loads(line) for line in newest.read_text().splitlines()]
    adds = [action["add"] for action in actions if "add" in action]
    new = [add for add in adds if not add.get("deletionVector")]
    return {
        "vectors": len(adds) - len(new),
        "files": len(new),
        "bytes": sum(add["size"] for add in new),
    }


# --- showing -------------------------------------------------------------------------------------


def _show(work: str, result: dict[str, Any]) -> None:
    times = "  ".join(f"{name} {seconds:7.3f} s" for name, seconds in result["medians"].items())
    verdict = ""
    if "faster" in result:
        word = "ok" if result["faster"] >= FASTER else "MISSED"
        verdict = f"  {result['faster']:5.2f} times faster, asked {FASTER}  {word}"
    if "of other" in result:
        ratio, asked = result["of other"], result["asked of other"]
        verdict += f"  {ratio:5.2f} of {OTHER}'s time without Spark"
        if asked is not None:
            verdict += f", asked {asked} at most  {'ok' if ratio <= asked else 'MISSED'}"
    print(f"{work:8} {times}{verdict}", flush=True)
    for name in result["medians"]:
        commit = result["commits"][name]
        busy = f"{result['processor'][name]:7.2f} s of processors"
        wrote = f"{commit['vectors']} vectors, {commit['files']} new files"
        print(f"         {name:12} {busy}; {wrote}, {commit['bytes'] / 1e6:.1f} MB", flush=True)


def _show_memory(memory: dict[str, dict[str, int]]) -> None:
    for name, peaks in memory.items():
        parts = ", ".join(f"{part} {peak / 1e6:,.0f} MB" for part, peak in peaks.items())
        verdict = ""
        if name == LAKEBED and "python" in peaks:
            word = "ok" if peaks["python"] <= MOST_PYTHON else "MISSED"
            verdict = f"  asked of Python {MOST_PYTHON / 1e6:,.0f} MB at most  {word}"
        print(f"memory   {name:12} {parts or 'unknown'}{verdict}", flush=True)


if __name__ == "__main__":
    main()
