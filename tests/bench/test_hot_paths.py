"""Opening, skipping and committing do not take more work as tables grow.

Counts of bytecode, requests and bytes are the same on a busy machine as on a quiet one, so these
catch what a benchmark would: a loop over files, or a read of the whole log. Sizes differ by 100 or
by 50; whatever becomes linear fails by far.
"""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import lakebed
from lakebed.log.listing.log_names import commit_path
from lakebed.log.table_log import TableLog
from lakebed.storage import open_store
from lakebed.tables.table import Table
from million import build
from testkit.gauges import CountingStore, instructions

FEW, MANY = 100, 10_000
SHORT, LONG = 15, 1_005
"""Both five commits after a checkpoint."""
ROW = pa.table({"id": [1]})


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Of few and of many files, in logs of the same length."""
    folder = tmp_path_factory.mktemp("files")
    for count in (FEW, MANY):
        build(folder / str(count), count)
        # What is imported or cached at first use is paid for here.
        lakebed.open(folder / str(count)).files(where="id = 5 AND day = DATE '2020-01-01'")
    return {count: folder / str(count) for count in (FEW, MANY)}


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Of one file, in a short and in a long log."""
    folder = tmp_path_factory.mktemp("logs")
    for length in (SHORT, LONG):
        path = folder / str(length)
        lakebed.write(path, ROW).write(ROW)
        for version in range(2, length + 1):
            info = {"timestamp": 1_700_000_000_000 + version, "operation": "NOTHING"}
            file = path / commit_path(version)
            file.write_text(json.dumps({"commitInfo": info}) + "\n")
            if version == length - 5:
                lakebed.open(path).checkpoint()
        lakebed.open(path).files()
    return {length: folder / str(length) for length in (SHORT, LONG)}


# --- the number of files -----------------------------------------------------------------------


def test_opening_and_listing_many_files_takes_no_more_instructions(tables: dict[int, Path]) -> None:
    few, many = (
        instructions(lambda path=path: lakebed.open(path).files()) for path in tables.values()
    )
    assert many < 1.5 * few


@pytest.mark.parametrize(
    "where", ["id BETWEEN 5000 AND 5010", "day = DATE '2020-01-01'", "customer > 'customer-5'"]
)
def test_skipping_among_many_files_takes_no_more_instructions(
    tables: dict[int, Path], where: str
) -> None:
    few, many = (
        instructions(lambda path=path: lakebed.open(path).files(where=where))
        for path in tables.values()
    )
    assert many < 1.5 * few


def test_opening_asks_the_store_as_often_whatever_the_number_of_files(
    tables: dict[int, Path],
) -> None:
    few, many = (_opened(path).requests for path in tables.values())
    assert many <= few + 2


# --- the length of the log ---------------------------------------------------------------------


@pytest.mark.parametrize("cheap_probes", [True, False])
def test_opening_a_long_log_asks_and_reads_no_more(
    logs: dict[int, Path], cheap_probes: bool
) -> None:
    short, long = (_opened(path, cheap_probes) for path in logs.values())
    assert long.requests <= short.requests + 2
    assert long.listed <= short.listed + 5
    assert long.bytes_read < 1.5 * short.bytes_read


def test_opening_a_long_log_takes_no_more_instructions(logs: dict[int, Path]) -> None:
    short, long = (
        instructions(lambda path=path: lakebed.open(path).files()) for path in logs.values()
    )
    assert long < 1.5 * short


@pytest.mark.parametrize("cheap_probes", [True, False])
def test_an_append_to_a_long_log_asks_and_reads_no_more(
    logs: dict[int, Path], cheap_probes: bool
) -> None:
    short, long = (_appended(path, cheap_probes) for path in logs.values())
    assert long.requests <= short.requests + 2
    assert long.listed <= short.listed + 5
    assert long.bytes_read < 1.5 * short.bytes_read


def test_an_append_to_a_long_log_takes_no_more_instructions(logs: dict[int, Path]) -> None:
    short, long = (
        instructions(lambda path=path: lakebed.write(path, ROW)) for path in logs.values()
    )
    assert long < 1.5 * short


# --- the gauge ---------------------------------------------------------------------------------


def test_a_loop_over_files_would_show() -> None:
    few, many = (
        instructions(lambda count=count: [number + 1 for number in range(count)])
        for count in (FEW, MANY)
    )
    assert many > 50 * few


def _opened(path: Path, cheap_probes: bool = True) -> CountingStore:
    store = CountingStore(open_store(str(path)), cheap_probes=cheap_probes)
    TableLog(store).snapshot().files()
    return store


def _appended(path: Path, cheap_probes: bool) -> CountingStore:
    store = CountingStore(open_store(str(path)), cheap_probes=cheap_probes)
    log = TableLog(store)
    Table(log, log.snapshot()).write(ROW)
    return store
