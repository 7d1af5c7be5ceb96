"""Deleting what the log no longer needs (PROTOCOL: Metadata Cleanup).

Everything goes that is older than the newest checkpoint not newer than the cut-off time, so every
version from that checkpoint on can be rebuilt as before. A pinned version counts as not expired,
and with it all that is newer: a log with a hole would be one that other engines cannot take.
The oldest files go first: whenever the clean-up stops, what is left is a log whose beginning is
missing, which readers know, and never one with a hole that could be taken for the beginning.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress

from lakebed.errors import (
    LogCorruptedError,
    ObjectExistsError,
    ObjectNotFoundError,
    VersionNotFoundError,
)
from lakebed.log.checkpoint_reader import CheckpointReader
from lakebed.log.listing.commit_times import CommitTimes
from lakebed.log.listing.listing import list_log
from lakebed.log.listing.log_names import SIDECAR_FOLDER, LogFile, classic_checkpoint_path
from lakebed.log.listing.segment import CheckpointRef, build_segment, complete_checkpoints
from lakebed.log.snapshot import Snapshot
from lakebed.spec.features import is_supported
from lakebed.spec.paths import decode_path
from lakebed.spec.pins import pins_of
from lakebed.storage.store import Store

_DAY = 24 * 60 * 60 * 1000
_FOREIGN_LOG = ("catalogManaged", "catalogOwned-preview", "coordinatedCommits-preview")


def clean_up(
    store: Store, snapshot: Snapshot, now_ms: int, until_ms: int | None = None
) -> list[str]:
    """Delete what has expired by the snapshot's properties; gives the paths, in order.

    `until_ms` is another time up to which the log may go.

    Does nothing where `delta.enableExpiredLogCleanup` is false, where a catalog keeps the log, or
    where `delta.requireCheckpointProtectionBeforeVersion` would be cut in two.
    """
    if not may_clean_up(snapshot):
        return []
    files = list_log(store)
    until = cut_off(snapshot, now_ms) if until_ms is None else until_ms
    boundary = _boundary(store, snapshot, files, until)
    if boundary is None or boundary.version < _protected_before(snapshot):
        return []
    expired = [file for file in files if _is_expired(file, boundary.version)]
    if not expired:
        return []
    _check_readable(store, files, boundary)
    _leave_sign_for_old_readers(store, snapshot, boundary)
    deleted = _delete(store, (file.path for file in expired))
    if any(file.kind == "checkpoint" for file in expired):
        deleted += _delete(store, _unreferenced_sidecars(store, now_ms))
    return deleted


def cleaned_before(store: Store, snapshot: Snapshot, now_ms: int) -> int | None:
    """The version before which `clean_up` would take everything; deletes nothing."""
    boundary = _allowed_boundary(store, snapshot, list_log(store), now_ms)
    return None if boundary is None else boundary.version


def may_clean_up(snapshot: Snapshot) -> bool:
    kept_elsewhere = any(is_supported(snapshot.protocol, name) for name in _FOREIGN_LOG)
    return snapshot.properties.enable_expired_log_cleanup and not kept_elsewhere


def cut_off(snapshot: Snapshot, now_ms: int) -> int:
    """Midnight UTC of the day up to which the log is kept by `delta.logRetentionDuration`."""
    return _midnight(now_ms - snapshot.properties.log_retention_ms)


def _midnight(timestamp: int) -> int:
    return timestamp // _DAY * _DAY


def _allowed_boundary(
    store: Store, snapshot: Snapshot, files: Sequence[LogFile], now_ms: int
) -> CheckpointRef | None:
    if not may_clean_up(snapshot):
        return None
    boundary = _boundary(store, snapshot, files, cut_off(snapshot, now_ms))
    if boundary is None or boundary.version < _protected_before(snapshot):
        return None
    return boundary


def _boundary(
    store: Store, snapshot: Snapshot, files: Sequence[LogFile], until: int
) -> CheckpointRef | None:
    """The checkpoint that everything newer is rebuilt from; its own commit stays too."""
    commits = _newest_run([file for file in files if file.kind == "commit"])
    if not commits:
        return None
    cut_off_commit = CommitTimes(store, commits, snapshot.properties).newest_until(until)
    if cut_off_commit is None:
        return None
    newest = min([cut_off_commit, *_pinned(snapshot, files)])
    found: dict[int, list[LogFile]] = defaultdict(list)
    for file in files:
        if file.kind == "checkpoint" and commits[0].version <= file.version <= newest:
            found[file.version].append(file)
    complete = complete_checkpoints(found)
    return complete[max(complete)] if complete else None


def _pinned(snapshot: Snapshot, files: Sequence[LogFile]) -> list[int]:
    """The pinned versions that the log can rebuild; for others there is nothing to keep."""
    pins = pins_of(snapshot.metadata.configuration).values()
    return [version for version in pins if _can_rebuild(files, version)]


def _can_rebuild(files: Sequence[LogFile], version: int) -> bool:
    try:
        build_segment(files, version)
    except (VersionNotFoundError, LogCorruptedError):
        return False
    return True


def _newest_run(commits: list[LogFile]) -> list[LogFile]:
    start = len(commits)
    while start > 0 and commits[-1].version - commits[start - 1].version == len(commits) - start:
        start -= 1
    return commits[start:]


def _protected_before(snapshot: Snapshot) -> int:
    """Checkpoint protection: the history before this version goes as a whole or stays."""
    if not is_supported(snapshot.protocol, "checkpointProtection"):
        return 0
    return snapshot.properties.require_checkpoint_protection_before_version


def _is_expired(file: LogFile, boundary: int) -> bool:
    # A compaction that begins with the boundary's own commit cannot be used any more.
    return file.version < boundary or (file.kind == "compaction" and file.version == boundary)


def _check_readable(store: Store, files: Sequence[LogFile], boundary: CheckpointRef) -> None:
    """Raise rather than delete what could stand in for a damaged checkpoint."""
    Snapshot(store, build_segment(files, boundary.version)).files(["path"])


def _leave_sign_for_old_readers(store: Store, snapshot: Snapshot, boundary: CheckpointRef) -> None:
    """Readers that do not know V2 checkpoints must find a protocol that refuses them.

    PROTOCOL: Handling Backward compatibility while moving to UUID-named v2 Checkpoints.
    """
    file = boundary.files[0]
    protected = is_supported(snapshot.protocol, "checkpointProtection")
    if file.unique is None or file.is_json or protected:
        return
    with suppress(ObjectExistsError):
        store.put_if_absent(classic_checkpoint_path(boundary.version), store.get(file.path))


def _delete(store: Store, paths: Iterable[str]) -> list[str]:
    deleted = []
    for path in paths:
        store.delete(path)
        deleted.append(path)
    return deleted


def _unreferenced_sidecars(store: Store, now_ms: int) -> list[str]:
    """Sidecars that no checkpoint names, but for those of checkpoints that are being written."""
    newest = _midnight(now_ms) - _DAY
    found = store.list_from(f"{SIDECAR_FOLDER}/")
    old = [file.path for file in found if file.modified_ms < newest]
    if not old:
        return []
    used = {path for file in list_log(store) for path in _sidecars_of(store, file)}
    return [path for path in old if path not in used]


def _sidecars_of(store: Store, file: LogFile) -> list[str]:
    if file.kind != "checkpoint" or file.parts is not None:
        return []
    reader = CheckpointReader(store, CheckpointRef(file.version, (file,)))
    try:
        sidecars = reader.sidecars
    except ObjectNotFoundError:
        # Somebody else cleans up too.
        return []
    names = [decode_path(sidecar.path).rsplit("/", 1)[-1] for sidecar in sidecars]
    return [f"{SIDECAR_FOLDER}/{name}" for name in names]
