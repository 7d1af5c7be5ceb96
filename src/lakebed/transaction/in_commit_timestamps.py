"""The time of a commit inside it (PROTOCOL: Writer Requirements for In-Commit Timestamps)."""

from __future__ import annotations

from dataclasses import replace

from lakebed.errors import LogCorruptedError
from lakebed.log.listing.log_names import commit_path
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Metadata
from lakebed.spec.properties import TableProperties

_VERSION = TableProperties.in_commit_timestamp_enablement_version.key
_TIMESTAMP = TableProperties.in_commit_timestamp_enablement_timestamp.key


def timestamp(now: int, base: Snapshot | None) -> int:
    """Later than the commit before, whatever the clock says."""
    return now if base is None else max(now, _last_timestamp(base) + 1)


def with_enablement(metadata: Metadata, base: Snapshot | None, stamp: int) -> Metadata:
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
        # The first stamp must be later than the file before it.
        return base.store.head(commit_path(base.version)).modified_ms
    info = base.commit_info
    stamp = None if info is None else info.in_commit_timestamp
    if stamp is None:
        raise LogCorruptedError(
            "in-commit timestamps are on, but the commit has none", file=commit_path(base.version)
        )
    return stamp
