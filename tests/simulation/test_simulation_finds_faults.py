"""What the simulation is for: each of these faults, put in on purpose, makes a history fail."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pytest
from history import History, HistoryError
from simulated_store import Objects, Odds, SimulatedStore

from lakebed.arrow.small_files import many_files
from lakebed.commands.clone import clone_table, cloned_files
from lakebed.commands.optimize import optimize, optimize_run
from lakebed.commands.rows.row_change import RowChange
from lakebed.commands.vacuum import vacuum_plan, vacuum_selection
from lakebed.formats.deletion_vectors import RowIndexSet
from lakebed.iceberg.publish import _Attempt
from lakebed.iceberg.version_changes import changes_since
from lakebed.log.change_feed import change_files
from lakebed.log.maintenance import checkpoint_content, checkpoint_hook, cleanup
from lakebed.log.table_log import TableLog
from lakebed.spec.actions import Add
from lakebed.streaming.source import commit_files
from lakebed.transaction import Transaction, commit
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
    patch.setattr(vacuum_plan, "_version_at", lambda snapshot, *_: snapshot.version)
    patch.setattr(vacuum_plan, "_tombstones", lambda *_: [])


def vacuum_takes_young_files(patch: Patch) -> None:
    """What a writer has written and not committed yet."""
    deletable = vacuum_selection._deletable
    patch.setattr(
        vacuum_selection, "_deletable", lambda found, _, safe: deletable(found, 10**15, safe)
    )


def checkpoint_lacks_a_file(patch: Patch) -> None:
    content_of = checkpoint_content.content_of

    def lacking(*given: Any) -> Any:
        found = content_of(*given)
        return replace(found, adds=found.adds.slice(1))

    patch.setattr(checkpoint_hook, "content_of", lacking)


def clean_up_takes_everything(patch: Patch) -> None:
    patch.setattr(cleanup, "cut_off", lambda _, now_ms: now_ms)


def optimize_brings_deleted_rows_back(patch: Patch) -> None:
    patch.setattr(many_files.ManyFiles, "_kept", lambda *given: pa.repeat(True, given[-1]))
    patch.setattr(optimize_run, "check_rows", lambda *_: None)


def optimize_compacts_what_was_there_before(patch: Patch) -> None:
    """A batch that another commit came in the way of is written as it was first read."""
    patch.setattr(optimize._Optimize, "_still_there", lambda _, batch, __: list(batch))
    patch.setattr(Transaction, "read_paths", lambda *_: None)
    patch.setattr(commit, "find_conflict", lambda *_: None)


def merge_forgets_what_it_looked_at(patch: Patch) -> None:
    """Two MERGEs insert the same keys."""
    patch.setattr(Transaction, "read_predicate", lambda *_: None)


def change_feed_is_without_its_files(patch: Patch) -> None:
    """Rows that are only copied to other files seem to go and to come."""
    patch.setattr(RowChange, "_copies", lambda *_: False)


def change_feed_takes_files_for_rows(patch: Patch) -> None:
    """Of a file that gets another vector, all rows seem to go."""
    patch.setattr(change_files, "read_vector", lambda *_, **__: RowIndexSet())


def clone_forgets_vectors(patch: Patch) -> None:
    patch.setattr(cloned_files._Places, "_vector_of", lambda *_: None)


def clone_is_of_another_version(patch: Patch) -> None:
    """The files of the newest version under the number of an older one."""
    whole = clone_table.whole_files
    patch.setattr(clone_table, "whole_files", lambda each: whole(TableLog(each.store).snapshot()))


def stream_repeats_what_is_rewritten(patch: Patch) -> None:
    """Files of OPTIMIZE are taken for appended ones."""
    patch.setattr(
        commit_files,
        "_added",
        lambda commit: (each for each in commit.actions if isinstance(each, Add)),
    )


def iceberg_is_without_missed_commits(patch: Patch) -> None:
    """Commits that nobody published, because their writers died, are not caught up with."""

    def own(snapshot: Any, version: int, actions: Any) -> Any:
        return changes_since(snapshot, max(version, snapshot.version - 1), actions)

    # The package has a function of the module's name.
    patch.setattr(sys.modules[_Attempt.__module__], "changes_since", own)
    patch.setattr(_Attempt, "_is_complete", lambda _: True)


@dataclass(frozen=True)
class Case:
    fault: Callable[[Patch], None]
    found: str
    only: tuple[str, ...] = ()
    """Commands that meet what is broken more often than others."""


CASES = [
    Case(store_that_overwrites, "commits by|acknowledged, but|twice|checksum file says"),
    Case(store_with_old_listings, r"read version \d+, not|holes|cannot be rebuilt"),
    Case(no_conflict_is_found, "has too much|twice|lacks|break"),
    Case(own_commit_is_not_recognised, "[12] commits (of the clone )?by|twice"),
    Case(marks_of_others_are_forgotten, "twice|has too much", ("delete",)),
    Case(vacuum_keeps_the_newest_version_only, "VACUUM deleted", ("overwrite", "vacuum")),
    Case(vacuum_takes_young_files, "VACUUM deleted|has lost", ("append", "vacuum")),
    Case(checkpoint_lacks_a_file, "is wrong|its checksum file says|too little"),
    Case(clean_up_takes_everything, "cannot be rebuilt"),
    Case(optimize_brings_deleted_rows_back, "has too much", ("append", "delete", "optimize")),
    Case(
        optimize_compacts_what_was_there_before, "twice|too much", ("append", "delete", "optimize")
    ),
    Case(merge_forgets_what_it_looked_at, "has too much", ("merge", "append")),
    Case(change_feed_is_without_its_files, "did not change", ("delete", "read changes")),
    Case(change_feed_takes_files_for_rows, "went", ("delete", "read changes")),
    Case(clone_forgets_vectors, "of the clone", ("delete", "clone")),
    Case(clone_is_of_another_version, "of the clone", ("append", "clone")),
    Case(stream_repeats_what_is_rewritten, "stream", ("append", "optimize", "stream")),
    Case(iceberg_is_without_missed_commits, r"v\d+ of version"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.fault.__name__)
def test_the_simulation_catches(case: Case, monkeypatch: Patch) -> None:
    case.fault(monkeypatch)
    with pytest.raises(HistoryError, match=case.found) as caught:
        _run_until_one_fails(case.only)
    message = str(caught.value)
    assert "PYTHONPATH=src python tests/simulation/history.py" in message


def _run_until_one_fails(only: tuple[str, ...]) -> None:
    for seed in range(MOST):
        History(seed, odds=Odds(slow=0.1, lost=0.02), only=only).run()
