"""The streams that a VACUUM breaks: those that have still to read what it deletes.

VACUUM knows no streams. Whoever calls it names the checkpoints, and `lakebed.streaming` tells from
each what the stream has still to read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa


@dataclass(frozen=True)
class KnownStream:
    """`version` is the newest version of which it has read something, None before the first.

    It needs the commits from `first_commit` on. `files` and `change_files` are locations; it reads
    the change files only if it reads the change feed. `is_broken`: the log lacks what it needs.
    """

    checkpoint: str
    query: str
    version: int | None
    first_commit: int
    files: frozenset[str] = field(default_factory=frozenset)
    change_files: frozenset[str] = field(default_factory=frozenset)
    is_broken: bool = False


BROKEN_SCHEMA = pa.schema(
    [
        ("checkpoint", pa.string()),
        ("query", pa.string()),
        ("version", pa.int64()),
        ("files", pa.int64()),
        ("change_files", pa.int64()),
        ("commits", pa.bool_()),
        ("was_broken", pa.bool_()),
    ]
)


def broken_table(
    streams: Iterable[KnownStream],
    deleted: Iterable[str],
    is_gone: Callable[[str], bool],
    log_start: int | None,
) -> pa.Table:
    """Those that lack a file or a commit when `deleted` are deleted and the log is cleaned up.

    `is_gone` tells of a location that it was gone before. The log starts at `log_start` afterwards.
    """
    gone = set(deleted)
    rows = list(_rows(streams, gone, is_gone, log_start or 0))
    return pa.Table.from_pylist(rows, schema=BROKEN_SCHEMA)


def _rows(
    streams: Iterable[KnownStream], deleted: set[str], is_gone: Callable[[str], bool], start: int
) -> Iterator[dict[str, object]]:
    for stream in streams:
        files, changes = stream.files & deleted, stream.change_files & deleted
        lacks_commits = stream.first_commit < start
        was_broken = stream.is_broken or any(map(is_gone, stream.files))
        if files or changes or lacks_commits or was_broken:
            yield {
                "checkpoint": stream.checkpoint,
                "query": stream.query,
                "version": stream.version,
                "files": len(files),
                "change_files": len(changes),
                "commits": lacks_commits,
                "was_broken": was_broken,
            }
