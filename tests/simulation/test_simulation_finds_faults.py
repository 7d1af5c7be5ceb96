"""What the simulation is for: each of these faults, put in on purpose, makes a history fail."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pytest
from history import History, HistoryError
from simulated_store import Objects, Odds, SimulatedStore

from lakebed.commands.vacuum import vacuum_plan as plan
from lakebed.commands.vacuum import vacuum_selection as selection
from lakebed.log.maintenance import checkpoint_content, checkpoint_hook, cleanup
from lakebed.transaction import commit
from lakebed.transaction.winner import Winner

MOST = 150
Patch = pytest.MonkeyPatch


def store_that_overwrites(patch: Patch) -> None:
    """As one that does not know conditional puts."""
    patch.setattr(Objects, "put_if_absent", Objects.put)


def store_with_old_listings(patch: Patch) -> None:
    """As S3 was before 2020."""
    pages = SimulatedStore._pages

    def old(self: SimulatedStore, fits: Callable[[str], bool]) -> list[Any]:
        limit = self._turns.now_ms - 200
        return [found for found in pages(self, fits) if found.modified_ms < limit]

    patch.setattr(SimulatedStore, "_pages", old)


def no_conflict_is_found(patch: Patch) -> None:
    patch.setattr(commit, "find_conflict", lambda *_: None)


def own_commit_is_not_recognised(patch: Patch) -> None:
    """After a lost answer the same actions are committed once more."""
    patch.setattr(Winner, "txn_id", property(lambda _: "of somebody else"))


def marks_of_others_are_forgotten(patch: Patch) -> None:
    """Two DELETEs of rows of one file: the second vector is without the rows of the first."""
    patch.setattr(commit, "carry_over", lambda marks, _: marks)


def vacuum_keeps_the_newest_version_only(patch: Patch) -> None:
    patch.setattr(plan, "_version_at", lambda snapshot, *_: snapshot.version)
    patch.setattr(plan, "_tombstones", lambda *_: [])


def vacuum_takes_young_files(patch: Patch) -> None:
    """What a writer has written and not committed yet."""
    doomed = selection._deletable
    patch.setattr(selection, "_deletable", lambda found, _, safe: doomed(found, 10**15, safe))


def checkpoint_lacks_a_file(patch: Patch) -> None:
    content_of = checkpoint_content.content_of

    def lacking(*given: Any) -> Any:
        found = content_of(*given)
        return replace(found, adds=found.adds.slice(1))

    patch.setattr(checkpoint_hook, "content_of", lacking)


def clean_up_takes_everything(patch: Patch) -> None:
    patch.setattr(cleanup, "cut_off", lambda _, now_ms: now_ms)


@dataclass(frozen=True)
class Case:
    fault: Callable[[Patch], None]
    found: str
    only: tuple[str, ...] = ()
    """Commands that meet what is broken more often than others."""


CASES = [
    Case(store_that_overwrites, "commits by|acknowledged, but|twice"),
    Case(store_with_old_listings, r"read version \d+, not|holes|cannot be rebuilt"),
    Case(no_conflict_is_found, "has too much|twice|lacks|break"),
    Case(own_commit_is_not_recognised, "[12] commits by|twice"),
    Case(marks_of_others_are_forgotten, "twice|has too much", ("delete",)),
    Case(vacuum_keeps_the_newest_version_only, "VACUUM deleted", ("overwrite", "vacuum")),
    Case(vacuum_takes_young_files, "VACUUM deleted|has lost", ("append", "vacuum")),
    Case(checkpoint_lacks_a_file, "is wrong|its checksum file says|too little"),
    Case(clean_up_takes_everything, "cannot be rebuilt"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.fault.__name__)
def test_the_simulation_catches(case: Case, monkeypatch: Patch) -> None:
    logging.getLogger("lakebed").setLevel(logging.CRITICAL)
    pa.set_cpu_count(1)
    case.fault(monkeypatch)
    with pytest.raises(HistoryError, match=case.found) as caught:
        _run_until_one_fails(case.only)
    message = str(caught.value)
    assert "PYTHONPATH=src python tests/simulation/history.py" in message


def _run_until_one_fails(only: tuple[str, ...]) -> None:
    for seed in range(MOST):
        History(seed, odds=Odds(slow=0.1, lost=0.02), only=only).run()
