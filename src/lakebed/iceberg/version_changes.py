"""What happened to the files of a Delta table since the version that Iceberg knows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from lakebed.errors import LogCorruptedError, ObjectNotFoundError
from lakebed.formats import commit_file as commit
from lakebed.log.listing.file_locations import hadoop_location
from lakebed.log.listing.listing import newer_commits
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Action, Add, CommitInfo, Remove
from lakebed.storage.store import Store

# A publisher that is further behind starts over: reading so many commits takes longer.
_MOST_COMMITS = 1_000


@dataclass
class Changes:
    """The sum of commits. Files are known by their locations.

    `removed` may name files that Iceberg never knew. `retention_ms` is that of a VACUUM among the
    commits.
    """

    added: dict[str, Add] = field(default_factory=dict)
    removed: set[str] = field(default_factory=set)
    data_change: bool = False
    retention_ms: int | None = None

    @property
    def operation(self) -> str:
        if not self.removed:
            return "append"
        if not self.added:
            return "delete"
        return "overwrite" if self.data_change else "replace"


def changes_since(snapshot: Snapshot, version: int, actions: Sequence[Action]) -> Changes | None:
    """From `version` on; `actions` are those of the commit of `snapshot`, if at hand.

    None if the commits are gone, or too many.
    """
    if version == snapshot.version:
        return Changes()
    if actions and version == snapshot.version - 1:
        return sum_of([actions], snapshot.store.url)
    try:
        commits = _commits(snapshot.store, version, snapshot.version)
    except (LogCorruptedError, ObjectNotFoundError):
        return None
    return None if commits is None else sum_of(commits, snapshot.store.url)


def sum_of(commits: Iterable[Sequence[Action]], root: str) -> Changes:
    changes = Changes()
    for actions in commits:
        # A commit may remove a file and add it again; what it adds is there afterwards.
        for action in actions:
            if isinstance(action, Remove):
                location = hadoop_location(action.path, root)
                changes.added.pop(location, None)
                changes.removed.add(location)
                changes.data_change |= action.data_change
            elif isinstance(action, CommitInfo):
                changes.retention_ms = _shorter(changes.retention_ms, _vacuum_retention(action))
        for action in actions:
            if isinstance(action, Add):
                changes.added[hadoop_location(action.path, root)] = action
                changes.data_change |= action.data_change
    return changes


def _commits(store: Store, after: int, until: int) -> list[list[Action]] | None:
    if until - after > _MOST_COMMITS:
        return None
    files = [file for file in newer_commits(store, after) if file.version <= until]
    if len(files) != until - after:
        return None
    bodies = store.get_many([file.path for file in files])
    return [
        commit.decode_actions(body, file.path) for body, file in zip(bodies, files, strict=True)
    ]


def _vacuum_retention(info: CommitInfo) -> int | None:
    """From what age on a VACUUM deletes files: snapshots that need them must be gone by then."""
    if info.operation != "VACUUM START":
        return None
    parameters = info.values.get("operationParameters")
    if not isinstance(parameters, dict):
        return None
    for name in ("specifiedRetentionMillis", "defaultRetentionMillis"):
        text = str(parameters.get(name, ""))
        if text.isascii() and text.isdigit():
            return int(text)
    return None


def _shorter(one: int | None, other: int | None) -> int | None:
    known = [each for each in (one, other) if each is not None]
    return min(known, default=None)
