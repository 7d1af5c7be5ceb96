"""Appends of one row: how long one takes, at growing lengths of the log, and by many at once."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lakebed
from suite.peer_process import PeerProcess
from suite.rounds import Case, Context, run_cases
from suite.rows import one_row

NAME = "commits"
TITLE = "Small commits"
ABOUT = (
    "One row is appended to a table with so many commits, by its path; seconds of one append, as "
    "the mean of several, since a checkpoint may be among them. Writers are threads of one "
    "process that append to one table at the same time; the rate is what counts there. Raw "
    "Parquet has no commits: it writes a file."
)
APPEND, ARROW_APPEND = "append on Spark", "append without Spark"
WRITERS, ARROW_WRITERS = "append on Spark, by writers", "append without Spark, by writers"
_ON_SPARK = ("lakebed", "delta-spark", "parquet")
_WITHOUT = ("lakebed", "deltalake")


def run(context: Context) -> None:
    sizes = context.sizes
    tables = {length: _table(context.folder, length) for length in sizes.log_lengths}
    cases = []
    for length, table in tables.items():
        more = {"times": sizes.appends}
        spark, arrow = dict.fromkeys(_ON_SPARK, "append"), dict.fromkeys(_WITHOUT, "arrow_append")
        cases.append(_case(APPEND, spark, table, more, "commits", length, sizes.appends))
        cases.append(_case(ARROW_APPEND, arrow, table, more, "commits", length, sizes.appends))
    run_cases(
        context,
        NAME,
        cases,
        rounds=sizes.rounds + 1,
        warm_up=sizes.warm_up,
        seconds=context.share(0.6),
    )
    table, cases = tables[sizes.log_lengths[0]], []
    for count in sizes.writers:
        commits = count * sizes.appends
        more = {"writers": count, "times": sizes.appends}
        spark = dict.fromkeys(_ON_SPARK[:2], "append_by")
        arrow = dict.fromkeys(_WITHOUT, "arrow_append_by")
        cases.append(_case(WRITERS, spark, table, more, "writers", count, commits))
        cases.append(_case(ARROW_WRITERS, arrow, table, more, "writers", count, commits))
    run_cases(context, NAME, cases, rounds=sizes.rounds, warm_up=1, seconds=context.share(0.4))


def _case(
    measure: str,
    jobs: dict[str, str],
    table: Path,
    arguments: dict[str, int],
    axis: str,
    x: float,
    per: int,
) -> Case:
    @contextlib.contextmanager
    def setup(peer: PeerProcess) -> Iterator[dict[str, Any]]:
        with peer.copy_of(table) as path:
            target = path / "rows" if peer.name == "parquet" else path
            yield {"path": str(target), **arguments}

    return Case(measure, jobs, setup, axis, x, per)


def _table(folder: Path, length: int) -> Path:
    """With so many commits and one file in it, whatever the length: its rows are overwritten."""
    path = folder / f"commits-{length}"
    table = lakebed.write(path, one_row(0))
    while table.version < length:
        table = table.write(one_row(table.version), mode="overwrite")
    return path
