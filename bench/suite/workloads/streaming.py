"""Streams from table to table: batches small and large, a first batch, and one that lags."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

import lakebed
from suite.peer_process import BENCH, PeerProcess
from suite.rounds import Case, Context, run_cases
from suite.rows import changing_rows

NAME = "streaming"
TITLE = "Streams"
ABOUT = (
    "From a table to a table of the same format, with Trigger.AvailableNow: batches of one file of "
    "ten rows, as the mean of several with the start of the stream; one batch of all rows of a "
    "large table; the first batch of ten files of a table with so many, of a stream that would go "
    "on; and a stream that has so many commits to catch up with, in batches of 1,000 files, each "
    "commit with a file of ten rows, and without new rows but in the last (maintenance such as "
    "OPTIMIZE)."
)
SMALL, LARGE = "small micro-batch", "one large batch"
FIRST = "first batch of 10 files"
CATCH_UP, MAINTAINED = "catch up over commits", "catch up over maintenance"
_ALL = dict.fromkeys(("lakebed", "delta-spark", "parquet"), "stream")
_DELTA = dict.fromkeys(("lakebed", "delta-spark"), "stream")
_FIRST = dict.fromkeys(("lakebed", "delta-spark"), "first_batch")
_FIRST_FILES = 10
_LINKS = 1000
"""Names that one file has at most: systems have a limit."""


def run(context: Context) -> None:
    sizes, folder = context.sizes, context.folder
    count = sizes.stream_batches
    cases = [
        Case(SMALL, _ALL, _target(_small(folder, count), {"files": 1}), None, None, count),
        Case(LARGE, _ALL, _target(_large(folder, sizes.stream_rows), {"files": 1000})),
        Case(FIRST, _FIRST, _first(_many_files(folder, sizes.stream_files))),
    ]
    for measure, is_new in ((CATCH_UP, True), (MAINTAINED, False)):
        table = _many_commits(folder, sizes.stream_commits, is_new=is_new)
        setup = _target({"delta": table}, {"files": 1000, "from_start": True})
        # delta-spark takes a minute for each.
        once = {"delta-spark"} if sizes.stream_commits > 1000 else ()
        cases.append(Case(measure, _DELTA, setup, "commits", sizes.stream_commits, once=once))
    run_cases(context, NAME, cases, rounds=sizes.rounds + 1, warm_up=1, seconds=context.share(0.9))


def _target(sources: Mapping[str, Path], arguments: dict[str, Any]) -> Any:
    """A new table to write, and a path to read that delta-spark has not seen."""

    @contextlib.contextmanager
    def setup(peer: PeerProcess) -> Iterator[dict[str, Any]]:
        work = peer.folder / f"stream-{uuid.uuid4()}"
        source = work / "source"
        kind = "parquet" if peer.name == "parquet" else "delta"
        shutil.copytree(sources[kind], source, copy_function=os.link)
        target, checkpoint = str(work / "target"), str(work / "checkpoint")
        try:
            yield {"path": str(source), "target": target, "checkpoint": checkpoint, **arguments}
        finally:
            shutil.rmtree(work, ignore_errors=True)

    return setup


def _first(table: Path) -> Any:
    inner = _target({"delta": table}, {"files": _FIRST_FILES})

    @contextlib.contextmanager
    def setup(peer: PeerProcess) -> Iterator[dict[str, Any]]:
        with inner(peer) as arguments:
            yield {name: value for name, value in arguments.items() if name != "target"}

    return setup


# --- tables --------------------------------------------------------------------------------------


def _small(folder: Path, count: int) -> dict[str, Path]:
    """So many files of ten rows, in one version."""
    plain = folder / "stream-small-parquet"
    plain.mkdir()
    for number in range(count):
        ids = np.arange(number * 10, number * 10 + 10)
        pq.write_table(changing_rows(ids), plain / f"part-{number:06}.parquet", store_schema=False)
    return {"parquet": plain, "delta": _converted(plain, folder / "stream-small-delta")}


def _large(folder: Path, rows: int, files: int = 8) -> dict[str, Path]:
    plain = folder / "stream-large-parquet"
    plain.mkdir()
    for number in range(files):
        ids = np.arange(rows * number // files, rows * (number + 1) // files)
        pq.write_table(changing_rows(ids), plain / f"part-{number:06}.parquet", store_schema=False)
    return {"parquet": plain, "delta": _converted(plain, folder / "stream-large-delta")}


def _converted(plain: Path, path: Path) -> Path:
    shutil.copytree(plain, path, copy_function=os.link)
    lakebed.convert(path)
    return path


def _many_files(folder: Path, count: int) -> Path:
    path = folder / f"stream-files-{count}"
    # More than a batch are there: the stream goes on until it is stopped.
    command = [sys.executable, str(BENCH / "million.py"), str(path), str(count), "400"]
    subprocess.run(command, check=True, capture_output=True)
    return path


def _many_commits(folder: Path, count: int, *, is_new: bool) -> Path:
    """Each with a file; only the first and the last are new unless all are."""
    path = folder / f"stream-commits-{count}-{is_new}"
    lakebed.write(path, changing_rows(np.arange(10)))
    original = path / next(iter(lakebed.open(path).files()["path"].to_pylist()))
    for version in range(1, count + 1):
        name = f"part-{version:06}.parquet"
        if version % _LINKS == 1:
            shutil.copy(original, path / name)
            linked = path / name
        else:
            (path / name).hardlink_to(linked)
        add = {
            "path": name,
            "partitionValues": {},
            "size": original.stat().st_size,
            "modificationTime": 1_790_000_000_000 + version,
            "dataChange": is_new or version == count,
            "stats": '{"numRecords":10}',
        }
        info = {"timestamp": 1_790_000_000_000 + version, "operation": "WRITE"}
        lines = [json.dumps({"commitInfo": info}), json.dumps({"add": add})]
        (path / "_delta_log" / f"{version:020}.json").write_text("\n".join(lines) + "\n")
    return path
