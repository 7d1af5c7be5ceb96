from __future__ import annotations

import logging
from dataclasses import dataclass

import pytest

from lakebed.log.post_commit import PostCommit, run_hooks
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.storage import Store
from testkit.tables.log_tables import create, file


@dataclass
class Hook:
    name: str
    calls: list[str]
    due: bool = True
    fails: tuple[str, ...] = ()
    replacement: Snapshot | None = None

    def is_due(self, _commit: PostCommit) -> bool:
        self._called("is_due")
        return self.due

    def run(self, commit: PostCommit) -> None:
        self._called("run")
        if self.replacement is not None:
            commit.snapshot = self.replacement

    def _called(self, what: str) -> None:
        self.calls.append(f"{what} {self.name}")
        if what in self.fails:
            raise RuntimeError(f"{what} of {self.name}")


@pytest.fixture
def snapshot(memory: Store) -> Snapshot:
    return create(memory, file(0))


def test_all_hooks_are_asked_before_those_that_are_due_run_in_order(snapshot: Snapshot) -> None:
    calls: list[str] = []
    hooks = [Hook("a", calls), Hook("b", calls, due=False), Hook("c", calls)]
    done = run_hooks(hooks, snapshot, previous=None)
    assert calls == ["is_due a", "is_due b", "is_due c", "run a", "run c"]
    assert done.due == ["a", "c"]
    assert not done.errors


def test_a_hook_that_fails_is_reported_and_stops_no_other(
    snapshot: Snapshot, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "lakebed")
    calls: list[str] = []
    hooks = [
        Hook("a", calls, fails=("is_due",)),
        Hook("b", calls, fails=("run",)),
        Hook("c", calls),
    ]
    done = run_hooks(hooks, snapshot, previous=None)
    assert calls[-2:] == ["run b", "run c"]
    assert {name: str(error) for name, error in done.errors.items()} == {
        "a": "is_due of a",
        "b": "run of b",
    }
    assert done.due == ["b", "c"]
    assert "after version 0 was committed, its b failed: run of b" in caplog.text


def test_a_hook_may_replace_the_snapshot_to_go_on_with(snapshot: Snapshot, memory: Store) -> None:
    cheaper = TableLog(memory).snapshot()
    done = run_hooks([Hook("a", [], replacement=cheaper)], snapshot, previous=None)
    assert done.snapshot is cheaper
