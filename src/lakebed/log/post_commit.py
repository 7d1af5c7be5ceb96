"""Hooks that run after a commit: checksum, checkpoint, manifests, metadata for other readers.

A commit that is in the log has succeeded, and readers need nothing of what a hook writes. So
whatever fails in a hook is reported and logged, and never turns into a failure of the commit.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, TypeVar

from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Action

_LOG = logging.getLogger("lakebed")
T = TypeVar("T")


@dataclass
class PostCommit:
    """A version that was just committed, and how its hooks fared.

    `previous` is the version before, None where the commit created the table; `actions` are those
    of the commit. `snapshot` is the one to go on with: a hook may replace it by one of the same
    version that is cheaper to read. `due` are the names of the hooks that run; `errors` maps a
    step to its error.
    """

    snapshot: Snapshot
    previous: Snapshot | None
    actions: Sequence[Action]
    now_ms: int
    due: list[str] = field(default_factory=list)
    errors: dict[str, Exception] = field(default_factory=dict)

    def attempt(self, step: str, work: Callable[[], T]) -> T | None:
        """The result of a step; None if it failed, which is recorded and logged."""
        try:
            return work()
        except Exception as error:  # noqa: BLE001 - the commit is there, whatever happens now
            self.errors[step] = error
            version, url = self.snapshot.version, self.snapshot.store.url
            _LOG.warning(
                "%s: after version %d was committed, its %s failed: %s", url, version, step, error
            )
            return None


class PostCommitHook(Protocol):
    """`name` is what the hook is called in errors and in the log."""

    name: str

    def is_due(self, commit: PostCommit) -> bool:
        """Asked of all hooks before any of them runs, after every commit: without requests."""

    def run(self, commit: PostCommit) -> None: ...


def run_hooks(
    hooks: Sequence[PostCommitHook],
    snapshot: Snapshot,
    *,
    previous: Snapshot | None,
    actions: Sequence[Action] = (),
    now_ms: int | None = None,
) -> PostCommit:
    """Run the hooks that are due, in their order."""
    now = current_ms() if now_ms is None else now_ms
    commit = PostCommit(snapshot, previous, actions, now)
    due = [hook for hook in hooks if commit.attempt(hook.name, partial(hook.is_due, commit))]
    commit.due = [hook.name for hook in due]
    for hook in due:
        commit.attempt(hook.name, partial(hook.run, commit))
    return commit


def current_ms() -> int:
    return time.time_ns() // 1_000_000
