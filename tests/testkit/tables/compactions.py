"""A writer of log compactions: one file in place of a range of commits.

PROTOCOL: Log Compaction Files. Lakebed reads such files and does not write any: a checkpoint at
least every hundred commits serves readers better.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from lakebed.errors import ObjectExistsError
from lakebed.formats import commit_file as commit
from lakebed.log.listing.file_keys import file_key
from lakebed.log.listing.log_names import LogFile, commit_path, compaction_path
from lakebed.spec.actions import Action, Add, DomainMetadata, Metadata, Protocol, Remove, Txn
from lakebed.storage.store import Store


def compact(store: Store, start: int, end: int) -> LogFile | None:
    """Write the compaction of the commits `start` to `end`; None if they hold nothing to keep.

    Compaction files are copies: one that is already there is left alone.
    """
    paths = [commit_path(version) for version in range(start, end + 1)]
    bodies = store.get_many(paths)
    commits = [commit.decode_actions(d, path) for d, path in zip(bodies, paths, strict=True)]
    actions = reconcile(commits)
    if not actions:
        return None
    path = compaction_path(start, end)
    data = commit.encode(actions, path)
    with suppress(ObjectExistsError):
        store.put_if_absent(path, data)
    return LogFile(path, "compaction", start, len(data), end_version=end)


def reconcile(commits: Sequence[Sequence[Action]]) -> list[Action]:
    """What the commits, oldest first, come to (PROTOCOL: Action Reconciliation).

    Tombstones of files and of domains stay: older commits and checkpoints may hold what they
    cancel. Provenance and change data do not.
    """
    newest: dict[tuple[str, str], Action] = {}
    for actions in commits:
        for action in actions:
            key = _identity(action)
            if key is not None:
                # To the end, so that the order is that of the last word on each.
                newest.pop(key, None)
                newest[key] = action
    return sorted(newest.values(), key=_rank)


def _identity(action: Action) -> tuple[str, str] | None:
    if isinstance(action, Add | Remove):
        vector = action.deletion_vector
        return "file", file_key(action.path, None if vector is None else vector.to_json())
    if isinstance(action, Txn):
        return "txn", action.app_id
    if isinstance(action, DomainMetadata):
        return "domain", action.domain
    if isinstance(action, Protocol | Metadata):
        return type(action).__name__, ""
    return None


def _rank(action: Action) -> int:
    order = (Protocol, Metadata, Txn, DomainMetadata, Add, Remove)
    return next(rank for rank, kind in enumerate(order) if isinstance(action, kind))
