"""Histories whose clients use Spark, each from its seed; see `spark_history.py`.

`SIMULATE=<seconds>` runs histories from a random seed, which is printed, for so long.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from disk_objects import DiskObjects
from history import HistoryError
from pyspark.sql import SparkSession
from simulated_store import Odds
from spark_history import SparkHistory

from lakebed.log.newest_version import NewestVersion
from lakebed.spark.read.command_reads import CommandReads
from lakebed.transaction import commit
from lakebed.transaction.winner import Winner

Patch = pytest.MonkeyPatch
SEEDS = range(6)
MOST = 12
"""As many histories are tried to find a fault."""


@pytest.mark.slow("histories of many small Spark jobs, one after the other")
def test_whatever_spark_acknowledges_has_its_effect_once_and_in_the_order_of_versions(
    spark: SparkSession, tmp_path: Path
) -> None:
    switches = 0
    for seed in SEEDS:
        history = SparkHistory(seed, spark=spark, folder=tmp_path / str(seed)).run()
        switches += history.turns.switches
    assert switches > 10 * len(SEEDS)


def test_a_seed_gives_the_same_history(spark: SparkSession, tmp_path: Path) -> None:
    """But for the names of Spark's files, and what depends on their order."""
    events = [
        _without_names(SparkHistory(77, spark=spark, folder=tmp_path / str(number)).run())
        for number in range(2)
    ]
    assert events[0] == events[1]


@pytest.mark.skipif("SIMULATE" not in os.environ, reason="only if SIMULATE=<seconds> is set")
def test_histories_on_spark_from_a_random_seed(spark: SparkSession, tmp_path: Path) -> None:
    seed = int(os.environ.get("SIMULATE_FROM", secrets.randbits(32)))
    print(f"SIMULATE_FROM={seed}")
    end = time.monotonic() + float(os.environ["SIMULATE"])
    while time.monotonic() < end:
        SparkHistory(seed, spark=spark, folder=tmp_path / str(seed)).run()
        seed += 1


# --- faults that are put in on purpose ------------------------------------------------------------


def store_that_overwrites(patch: Patch) -> None:
    """As one that does not know conditional puts."""
    patch.setattr(DiskObjects, "put_if_absent", DiskObjects.put)


def no_conflict_is_found(patch: Patch) -> None:
    patch.setattr(commit, "find_conflict", lambda *_: None)


def own_commit_is_not_recognised(patch: Patch) -> None:
    """After a lost answer the same actions are committed once more."""
    patch.setattr(Winner, "txn_id", property(lambda _: "of somebody else"))


def queries_of_a_write_are_not_conditions(patch: Patch) -> None:
    """What a DataFrame reads of the table that it is written to."""
    made = CommandReads.__init__
    patch.setattr(CommandReads, "__init__", lambda self, target, _: made(self, target, _nothing))


def _nothing(*_: Any) -> None:
    pass


def queries_do_not_follow_the_table(patch: Patch) -> None:
    patch.setattr(NewestVersion, "snapshot", lambda self: self._known)


@dataclass(frozen=True)
class Case:
    fault: Callable[[Patch], None]
    found: str
    only: tuple[str, ...]
    odds: Odds = field(default_factory=Odds)
    first: int = 0
    """The seed to begin with: a history takes a second, and not all have the fault in them."""


CASES = [
    Case(store_that_overwrites, "commits by|acknowledged, but|twice", ("append",)),
    Case(no_conflict_is_found, "too much|twice|lacks", ("delete", "update", "merge"), first=3),
    Case(
        own_commit_is_not_recognised,
        "[12] commits by|twice|checksum file says",
        ("append", "insert"),
        Odds(lost=0.1),
        first=8,
    ),
    Case(queries_of_a_write_are_not_conditions, "has too much", ("copy", "update"), first=6),
    Case(queries_do_not_follow_the_table, "no version had", ("append", "read")),
]


@pytest.mark.slow("histories on Spark until one fails")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.fault.__name__)
def test_the_simulation_on_spark_catches(
    case: Case, spark: SparkSession, tmp_path: Path, monkeypatch: Patch
) -> None:
    case.fault(monkeypatch)
    with pytest.raises(HistoryError, match=case.found) as caught:
        _run_until_one_fails(case, spark, tmp_path)
    assert "PYTHONPATH=src python tests/simulation/history.py" in str(caught.value)


def _run_until_one_fails(case: Case, spark: SparkSession, root: Path) -> None:
    for seed in range(case.first, case.first + MOST):
        folder = root / str(seed)
        SparkHistory(seed, case.odds, case.only, spark=spark, folder=folder).run()


def _without_names(history: SparkHistory) -> list[str]:
    return [line.rpartition("/")[0] if "part-" in line else line for line in history.course.events]
