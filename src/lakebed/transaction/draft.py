"""A proposal made ready for one version: the exact bytes, and the table as it will be with them.

Everything that can fail is done here, before anything is written: once the bytes are in the log,
the new snapshot is there too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lakebed.formats import commit_file as commit
from lakebed.log.listing.log_names import commit_path
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import (
    Action,
    Add,
    AddCdc,
    DomainMetadata,
    Metadata,
    Protocol,
    Remove,
    Txn,
)
from lakebed.spec.vector_descriptors import log_path
from lakebed.storage.store import Store
from lakebed.transaction import in_commit_timestamps, row_tracking
from lakebed.transaction.commit_info import commit_info
from lakebed.transaction.conflicts.metadata_changes import moves_identity_marks_only
from lakebed.transaction.proposal import Proposal
from lakebed.transaction.row_marks import Sealed
from lakebed.transaction.validation import Target

# The small actions first, where readers that look for them find them soon.
_ORDER: Mapping[type, int] = {
    Protocol: 0,
    Metadata: 1,
    Txn: 2,
    DomainMetadata: 3,
    Remove: 4,
    Add: 4,
    AddCdc: 4,
}


_IDENTITY_TAG = "delta.identity.schemaUpdate"
"""Lets delta-spark's commits that draw no identity values live with this change of metadata."""


@dataclass(frozen=True)
class Draft:
    version: int
    actions: tuple[Action, ...]
    data: bytes
    snapshot: Snapshot

    @property
    def path(self) -> str:
        return commit_path(self.version)


def make_draft(
    store: Store,
    proposal: Proposal,
    base: Snapshot | None,
    target: Target,
    now: int,
    sealed: Sequence[Sealed] = (),
) -> Draft:
    """`sealed` are the proposal's marks with their vectors, which are in the store already."""
    version = 0 if base is None else base.version + 1
    marked = [action for each in sealed for action in each.actions(now)]
    actions = _with_row_ids([*proposal.actions, *marked], base, target, version)
    stamp = None
    if target.properties.enable_in_commit_timestamps:
        stamp = in_commit_timestamps.timestamp(now, base)
        actions = [_with_enablement(action, base, stamp) for action in actions]
    tags = _tags(proposal, base, target)
    info = commit_info(proposal, now=now, tags=tags, in_commit_timestamp=stamp)
    final = (info, *sorted(actions, key=lambda action: _ORDER[type(action)]))
    data = commit.encode(final, commit_path(version))
    return Draft(version, final, data, _snapshot(store, proposal, base, final))


def new_files(actions: Iterable[Action]) -> Iterator[str]:
    """What a commit names, as the log writes it: data files, deletion vectors, change files."""
    for action in actions:
        if isinstance(action, Add | AddCdc):
            yield action.path
        if isinstance(action, Add) and action.deletion_vector is not None:
            reference = log_path(action.deletion_vector)
            if reference is not None:
                yield reference


def _with_row_ids(
    actions: Iterable[Action], base: Snapshot | None, target: Target, version: int
) -> list[Action]:
    if row_tracking.FEATURE not in target.features:
        return list(actions)
    if target.properties.row_tracking_suspended:
        return row_tracking.suspend(actions)
    return row_tracking.assign(actions, {} if base is None else base.domains, version)


def _with_enablement(action: Action, base: Snapshot | None, stamp: int) -> Action:
    if isinstance(action, Metadata):
        return in_commit_timestamps.with_enablement(action, base, stamp)
    return action


def _tags(proposal: Proposal, base: Snapshot | None, target: Target) -> Mapping[str, str]:
    tags = {**proposal.operation.tags}
    if base is not None and moves_identity_marks_only(base.metadata, target.metadata):
        tags[_IDENTITY_TAG] = "true"
    if target.properties.enable_row_tracking and row_tracking.PRESERVED_TAG not in tags:
        # Marks alone leave the other rows with their ids; with new files they may be new versions.
        rewrites = bool(proposal.removes) or bool(proposal.marks and proposal.adds)
        tags[row_tracking.PRESERVED_TAG] = "false" if rewrites else "true"
    return tags


def _snapshot(
    store: Store, proposal: Proposal, base: Snapshot | None, actions: tuple[Action, ...]
) -> Snapshot:
    if base is None:
        return Snapshot.created(store, actions)
    return base.after(base.version + 1, actions, fresh=not proposal.recommits)
