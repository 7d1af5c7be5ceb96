"""A proposal made ready for one version: the exact bytes, and the table as it will be with them.

Everything that can fail is done here, before anything is written: once the bytes are in the log,
the new snapshot is there too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import orjson

from lakebed.errors import LogCorruptedError
from lakebed.formats import commit_file as commit
from lakebed.log.listing.log_names import commit_path
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import (
    Action,
    Add,
    AddCdc,
    CommitInfo,
    DomainMetadata,
    Metadata,
    Protocol,
    Remove,
    Txn,
)
from lakebed.spec.properties import TableProperties
from lakebed.spec.vector_descriptors import log_path
from lakebed.storage.store import Store
from lakebed.transaction import row_tracking
from lakebed.transaction.conflicts.metadata_changes import moves_high_water_marks_only
from lakebed.transaction.proposal import Proposal
from lakebed.transaction.row_marks import StoredMark
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
    stored_marks: Sequence[StoredMark] = (),
) -> Draft:
    """`stored_marks` are the proposal's marks, with the vectors that are in the store already."""
    version = 0 if base is None else base.version + 1
    marked = [action for each in stored_marks for action in each.actions(now)]
    actions = _with_row_ids([*proposal.actions, *marked], base, target, version)
    stamp = None
    if target.properties.enable_in_commit_timestamps:
        stamp = _in_commit_timestamp(now, base)
        actions = [_with_enablement(action, base, stamp) for action in actions]
    tags = _tags(proposal, base, target)
    info = _commit_info(proposal, now=now, tags=tags, in_commit_timestamp=stamp)
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
        return _enabled(action, base, stamp)
    return action


def _tags(proposal: Proposal, base: Snapshot | None, target: Target) -> Mapping[str, str]:
    tags = {**proposal.operation.tags}
    if base is not None and moves_high_water_marks_only(base.metadata, target.metadata):
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


# --- PROTOCOL: Commit Provenance Information, as in delta-spark -----------------------------------


def _commit_info(
    proposal: Proposal,
    *,
    now: int,
    tags: Mapping[str, str],
    in_commit_timestamp: int | None = None,
) -> CommitInfo:
    """`txnId` is what makes a commit recognisable when its writer reads it back."""
    operation = proposal.operation
    values: dict[str, Any] = {
        "inCommitTimestamp": in_commit_timestamp,
        "timestamp": now,
        "operation": operation.name,
        "operationParameters": {name: _value(v) for name, v in operation.parameters.items()},
        "readVersion": proposal.read_version,
        "isolationLevel": proposal.isolation.value,
        "isBlindAppend": proposal.is_blind_append,
        "operationMetrics": {name: _text(v) for name, v in operation.metrics.items()} or None,
        "userMetadata": operation.user_metadata,
        "tags": dict(tags) or None,
        "engineInfo": _engine_info(),
        "txnId": proposal.txn_id,
    }
    return CommitInfo({name: value for name, value in values.items() if value is not None})


@cache
def _engine_info() -> str:
    try:
        return f"Lakebed/{version('lakebed')}"
    except PackageNotFoundError:
        return "Lakebed/unknown"


def _value(value: Any) -> Any:
    """Lists and maps become JSON text; plain values stand as they are."""
    if isinstance(value, Mapping):
        return orjson.dumps(dict(value)).decode()
    if isinstance(value, Sequence | frozenset | set) and not isinstance(value, str | bytes):
        return orjson.dumps(list(value)).decode()
    return value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


# --- PROTOCOL: Writer Requirements for In-Commit Timestamps ---------------------------------------

_VERSION = TableProperties.in_commit_timestamp_enablement_version.key
_TIMESTAMP = TableProperties.in_commit_timestamp_enablement_timestamp.key


def _in_commit_timestamp(now: int, base: Snapshot | None) -> int:
    """Later than the commit before, whatever the clock says."""
    return now if base is None else max(now, _last_timestamp(base) + 1)


def _enabled(metadata: Metadata, base: Snapshot | None, stamp: int) -> Metadata:
    """New metadata of a table with in-commit timestamps, with what readers need for time travel.

    A table that had none before says from when on it has them; one that says so already goes on
    saying it, also where its metadata is replaced.
    """
    if base is None:
        return metadata
    if not base.properties.enable_in_commit_timestamps:
        return _extended(metadata, {_VERSION: str(base.version + 1), _TIMESTAMP: str(stamp)})
    known = base.metadata.configuration
    if _VERSION in metadata.configuration or _VERSION not in known or _TIMESTAMP not in known:
        return metadata
    return _extended(metadata, {_VERSION: known[_VERSION], _TIMESTAMP: known[_TIMESTAMP]})


def _extended(metadata: Metadata, more: dict[str, str]) -> Metadata:
    return replace(metadata, configuration={**metadata.configuration, **more})


def _last_timestamp(base: Snapshot) -> int:
    if not base.properties.enable_in_commit_timestamps:
        # The first timestamp must be later than the file before it.
        return base.store.head(commit_path(base.version)).modified_ms
    info = base.commit_info
    stamp = None if info is None else info.in_commit_timestamp
    if stamp is None:
        raise LogCorruptedError(
            "in-commit timestamps are on, but the commit has none", file=commit_path(base.version)
        )
    return stamp
