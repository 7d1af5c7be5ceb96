"""Which files of the log make up a version: a checkpoint and the commits after it.

PROTOCOL: Checkpoints, Delta Log Entries. Pure: works on names alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

from lakebed.errors import LogCorruptedError, TableNotFoundError, VersionNotFoundError
from lakebed.log.listing.log_names import LogFile
from lakebed.spec.limits import MISSING_VERSIONS


@dataclass(frozen=True)
class CheckpointRef:
    """A complete checkpoint: one file, or all of its parts in order."""

    version: int
    files: tuple[LogFile, ...]


@dataclass(frozen=True)
class LogSegment:
    """Everything needed to rebuild `version`; `commits` are contiguous and end with it."""

    version: int
    checkpoint: CheckpointRef | None
    commits: tuple[LogFile, ...]
    compactions: tuple[LogFile, ...] = ()
    checksum: LogFile | None = None

    def plan(self) -> list[LogFile]:
        """The commits to read, oldest first, with compactions in place of the ranges they cover."""
        by_start: dict[int, LogFile] = {}
        for file in self.compactions:
            best = by_start.get(file.version)
            if best is None or (best.end_version or 0) < (file.end_version or 0):
                by_start[file.version] = file
        result: list[LogFile] = []
        upcoming = self.commits[0].version if self.commits else self.version + 1
        while upcoming <= self.version:
            file = by_start.get(upcoming) or self.commits[upcoming - self.commits[0].version]
            result.append(file)
            upcoming = (file.end_version if file.end_version is not None else file.version) + 1
        return result


def build_segment(files: Iterable[LogFile], version: int | None = None) -> LogSegment:
    """The segment for `version`, or for the newest version there is."""
    commits: dict[int, LogFile] = {}
    checkpoints: dict[int, list[LogFile]] = defaultdict(list)
    compactions: list[LogFile] = []
    checksums: dict[int, LogFile] = {}
    for file in files:
        if file.kind == "commit":
            commits[file.version] = file
        elif file.kind == "checkpoint":
            checkpoints[file.version].append(file)
        elif file.kind == "compaction":
            compactions.append(file)
        else:
            checksums[file.version] = file
    complete = complete_checkpoints(checkpoints)
    newest = max([*commits, *complete], default=None)
    if newest is None:
        raise TableNotFoundError("the log has neither a commit nor a complete checkpoint")
    target = newest if version is None else version
    if target > newest:
        raise VersionNotFoundError(
            f"version {target} does not exist; the newest is {newest}",
            hint=f"ask for a version up to {newest}",
        )
    checkpoint = _newest_checkpoint(complete, target)
    chain = _chain(commits, checkpoint, target, complete)
    first = chain[0].version if chain else target + 1
    return LogSegment(
        version=target,
        checkpoint=checkpoint,
        commits=chain,
        compactions=_inside(compactions, first, target),
        checksum=checksums.get(target),
    )


def complete_checkpoints(found: dict[int, list[LogFile]]) -> dict[int, CheckpointRef]:
    """The best complete checkpoint of each version; parts of an incomplete one are ignored."""
    result: dict[int, CheckpointRef] = {}
    for version, files in found.items():
        whole = _whole(files)
        if whole is not None:
            result[version] = CheckpointRef(version, whole)
    return result


def _whole(files: list[LogFile]) -> tuple[LogFile, ...] | None:
    for file in files:
        if file.parts is None and file.unique is None:
            return (file,)
    unique = [file for file in files if file.unique is not None]
    if unique:
        return (max(unique, key=lambda file: (file.modified_ms, file.path)),)
    by_count: dict[int, dict[int, LogFile]] = defaultdict(dict)
    for file in files:
        if file.parts is not None and file.part is not None:
            by_count[file.parts][file.part] = file
    for count, parts in sorted(by_count.items()):
        if set(parts) == set(range(1, count + 1)):
            return tuple(parts[number] for number in range(1, count + 1))
    return None


def _newest_checkpoint(complete: dict[int, CheckpointRef], target: int) -> CheckpointRef | None:
    versions = [version for version in complete if version <= target]
    return complete[max(versions)] if versions else None


def _chain(
    commits: dict[int, LogFile],
    checkpoint: CheckpointRef | None,
    target: int,
    complete: dict[int, CheckpointRef],
) -> tuple[LogFile, ...]:
    start = 0 if checkpoint is None else checkpoint.version + 1
    missing = missing_versions(commits, start, target)
    if not missing:
        return tuple(commits[version] for version in range(start, target + 1))
    last = _last_missing(commits, target)
    if checkpoint is None and not any(version < last for version in commits):
        # The start of the log was cleaned up: this version is gone, the table is not broken.
        earliest = min(complete, default=None)
        if earliest is not None and target < earliest:
            raise VersionNotFoundError(
                f"version {target} can no longer be rebuilt: the log starts at {earliest}",
                hint=f"ask for a version from {earliest} on",
            )
    raise LogCorruptedError(
        f"versions not contiguous: missing commit(s) {_spans(missing)} below version {target}",
        hint="restore the missing files of _delta_log from a backup",
    )


def missing_versions(commits: Container[int], first: int, last: int) -> list[int]:
    """The first few that are not there. A single commit may pretend to be of a huge version, so
    what is not there is never listed as a whole.
    """
    missing: list[int] = []
    for version in range(first, last + 1):
        if version not in commits:
            missing.append(version)
            if len(missing) > MISSING_VERSIONS:
                break
    return missing


def _last_missing(commits: Container[int], target: int) -> int:
    while target in commits:
        target -= 1
    return target


def _inside(files: Sequence[LogFile], first: int, last: int) -> tuple[LogFile, ...]:
    return tuple(
        file
        for file in files
        if file.end_version is not None and first <= file.version < file.end_version <= last
    )


def _spans(versions: Sequence[int]) -> str:
    shown = ", ".join(map(str, versions[:MISSING_VERSIONS]))
    return f"[{shown}, ...]" if len(versions) > MISSING_VERSIONS else f"[{shown}]"
