"""The files that commits append, and what a stream of appended rows makes of other commits.

Data-changing `add` actions are numbered in the order of the commit. Commits that delete or update
rows are an error unless an option allows them.
"""

from __future__ import annotations

from collections.abc import Iterator

from lakebed.errors import SourceChangedError
from lakebed.spec.actions import Add, CommitInfo, Remove
from lakebed.streaming.source.indexed_file import IndexedFile, between_markers, numbered
from lakebed.streaming.source.source_log import SourceCommit
from lakebed.streaming.source.stream_options import StreamOptions


def appended_files(commit: SourceCommit, options: StreamOptions, url: str) -> Iterator[IndexedFile]:
    """The files of a commit between their markers."""
    removed = next(_removed(commit), None)
    if removed is not None:
        _check_allowed(commit, removed, options, url)
    skipped = removed is not None and options.skips_changes
    return between_markers(
        commit.version, () if skipped else numbered(commit.version, _added(commit))
    )


def _added(commit: SourceCommit) -> Iterator[Add]:
    return (each for each in commit.actions if isinstance(each, Add) and each.data_change)


def _removed(commit: SourceCommit) -> Iterator[Remove]:
    return (each for each in commit.actions if isinstance(each, Remove) and each.data_change)


def _check_allowed(commit: SourceCommit, removed: Remove, options: StreamOptions, url: str) -> None:
    is_update = next(_added(commit), None) is not None
    if is_update and not options.allows_changes:
        raise SourceChangedError(
            f"version {commit.version} of {url} updates rows ({_operation(commit)}, for example in "
            f"{removed.path}), and a stream reads appended rows",
            version=commit.version,
            hint="set the option skipChangeCommits to true to pass over such commits, "
            "readChangeFeed to read the changes of rows, or ignoreChanges to read rewritten files "
            "again",
        )
    if not is_update and not options.allows_deletes:
        raise SourceChangedError(
            f"version {commit.version} of {url} deletes rows ({_operation(commit)}, for example in "
            f"{removed.path}), and a stream reads appended rows",
            version=commit.version,
            hint="set the option skipChangeCommits or ignoreDeletes to true to pass over such "
            "commits, or readChangeFeed to read the changes of rows",
        )


def _operation(commit: SourceCommit) -> str:
    info = next((each for each in commit.actions if isinstance(each, CommitInfo)), None)
    return (info.operation if info is not None else None) or "unknown operation"
