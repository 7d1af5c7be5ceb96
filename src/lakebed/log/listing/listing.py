"""Finding the files of the log, starting from the hint where there is one.

PROTOCOL: Last Checkpoint File. A hint only saves work: a stale, corrupt or wrong one costs a full
listing and changes no answer.
"""

from __future__ import annotations

from lakebed.errors import (
    LogCorruptedError,
    ObjectNotFoundError,
    TableNotFoundError,
)
from lakebed.formats import last_checkpoint
from lakebed.formats.last_checkpoint import LastCheckpoint
from lakebed.log.listing.log_names import (
    LAST_CHECKPOINT,
    LOG_FOLDER,
    LogFile,
    checksum_path,
    classic_checkpoint_path,
    commit_path,
    list_start,
    parse_name,
    part_checkpoint_path,
)
from lakebed.log.listing.segment import CheckpointRef, LogSegment, build_segment, missing_versions
from lakebed.spec.limits import CHECKPOINT_PARTS, HINT_BYTES, MISSING_VERSIONS
from lakebed.storage.store import Store

# How far past the end a probe looks for commits that would mean a hole in the log.
_LOOK_AHEAD = 32
# With so many commits after it, a hint is probably stale.
_LONG_TAIL = 256


def list_log(store: Store, start: int = 0) -> list[LogFile]:
    """All files of the log that concern `start` and later versions, in order."""
    files = (
        parse_name(found.path, found.size, found.modified_ms)
        for found in store.list_from(list_start(start))
    )
    return [file for file in files if file is not None]


def read_hint(store: Store) -> LastCheckpoint | None:
    """The hint, if it is there and can be trusted."""
    try:
        data = store.get_range(LAST_CHECKPOINT, 0, HINT_BYTES + 1)
        return None if len(data) > HINT_BYTES else last_checkpoint.decode(data, LAST_CHECKPOINT)
    except (ObjectNotFoundError, LogCorruptedError):
        return None


def latest_segment(store: Store) -> LogSegment:
    """The newest version of the table."""
    hint = read_hint(store)
    if hint is not None:
        found = _probe(store, hint) if store.cheap_probes else None
        found = found or _list_from_hint(store, hint)
        if found is not None:
            return found
    return _from_listing(store, None)


def segment_at(store: Store, version: int) -> LogSegment:
    return _from_listing(store, version)


def newer_commits(store: Store, version: int) -> list[LogFile]:
    """The commits after `version`, contiguous."""
    if store.cheap_probes:
        return _probe_commits(store, version)
    found = _commits_after(store, version)
    try:
        return _contiguous(found, version)
    except LogCorruptedError:
        # Whatever is older than a commit that was seen is in a listing that starts now.
        newest = max(found)
        again = _commits_after(store, version)
        return _contiguous({v: file for v, file in again.items() if v <= newest}, version)


def _commits_after(store: Store, version: int) -> dict[int, LogFile]:
    files = list_log(store, version + 1)
    return {file.version: file for file in files if file.kind == "commit"}


def _contiguous(files: dict[int, LogFile], version: int) -> list[LogFile]:
    missing = missing_versions(files, version + 1, max(files, default=version))
    if missing:
        shown = missing[:MISSING_VERSIONS]
        raise LogCorruptedError(f"versions not contiguous: missing commit(s) {shown}")
    return [files[each] for each in sorted(files)]


def _from_listing(store: Store, version: int | None) -> LogSegment:
    try:
        return _build_patiently(store, version)
    except TableNotFoundError as error:
        raise TableNotFoundError(
            f"{store.url} is not a Delta table: {error.message}",
            hint=f"a Delta table has a folder {LOG_FOLDER} with commits; check the path",
        ) from error
    except LogCorruptedError as error:
        raise LogCorruptedError(
            error.message, file=f"{store.url}/{LOG_FOLDER}", hint=error.hint
        ) from error


def _build_patiently(store: Store, version: int | None) -> LogSegment:
    """A listing that runs beside writers may see a commit and not the one before it.

    A second listing sees everything that is older than what the first one saw, so a hole below
    that is real.
    """
    files = list_log(store)
    try:
        return build_segment(files, version)
    except LogCorruptedError:
        newest = max(file.version for file in files)
        again = [file for file in list_log(store) if file.version <= newest]
        return build_segment(again, version)


def _list_from_hint(store: Store, hint: LastCheckpoint) -> LogSegment | None:
    try:
        segment = build_segment(list_log(store, hint.version))
    except (TableNotFoundError, LogCorruptedError):
        return None
    return segment if segment.checkpoint is not None else None


def _probe(store: Store, hint: LastCheckpoint) -> LogSegment | None:
    """Ask for names instead of listing a folder that may hold the whole history.

    Gives up, and so causes a full listing, on any sign that the hint is stale or that the log has
    a hole. See docs/decisions/0007-probing-local-logs.md.
    """
    checkpoint = _hinted_checkpoint(hint)
    if checkpoint is None or not all(store.exists(file.path) for file in checkpoint.files):
        return None
    if not store.exists(commit_path(hint.version)):
        return None
    try:
        commits = tuple(_probe_commits(store, hint.version))
    except LogCorruptedError:
        return None
    if len(commits) > _LONG_TAIL:
        # There may be newer checkpoints, which only a listing shows.
        return None
    version = hint.version + len(commits)
    checksum = LogFile(checksum_path(version), "checksum", version)
    return LogSegment(version, checkpoint, commits, checksum=checksum)


def _probe_commits(store: Store, version: int) -> list[LogFile]:
    commits: list[LogFile] = []
    while store.exists(commit_path(version + 1)):
        version += 1
        commits.append(LogFile(commit_path(version), "commit", version))
    for ahead in range(version + 2, version + 2 + _LOOK_AHEAD):
        # Two looks: a commit may have been made between the first one and now.
        if store.exists(commit_path(ahead)) and not store.exists(commit_path(version + 1)):
            raise LogCorruptedError(f"versions not contiguous: missing commit(s) [{version + 1}]")
    return commits


def _hinted_checkpoint(hint: LastCheckpoint) -> CheckpointRef | None:
    version = hint.version
    if hint.v2_checkpoint is not None:
        name = hint.v2_checkpoint.get("path")
        file = parse_name(f"{LOG_FOLDER}/{name}") if isinstance(name, str) else None
        wrong = file is None or file.kind != "checkpoint" or file.version != version
        return None if wrong or file is None else CheckpointRef(version, (file,))
    if hint.parts is not None:
        if not 0 < hint.parts <= CHECKPOINT_PARTS:
            return None
        paths = [part_checkpoint_path(version, n, hint.parts) for n in range(1, hint.parts + 1)]
    else:
        paths = [classic_checkpoint_path(version)]
    files = [file for path in paths if (file := parse_name(path)) is not None]
    return CheckpointRef(version, tuple(files)) if files else None
