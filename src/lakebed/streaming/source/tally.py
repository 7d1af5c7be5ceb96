"""How many files and bytes a stream has not read yet, for the progress of its query.

Commits are read for it a few at a time, and only as far as they stay in memory until the stream
comes to them: counting must not slow down what it counts.
"""

from __future__ import annotations

from lakebed.streaming.source.offset import SourceOffset
from lakebed.streaming.source.source_files import Source, SourceFiles
from lakebed.streaming.source.source_log import SourceLog


class Tally:
    """Remembers the sums of commits, and nothing else of them."""

    def __init__(self, source: Source, commits: SourceLog, files: SourceFiles) -> None:
        self._source = source
        self._commits = commits
        self._files = files
        self._sums: dict[int, tuple[int, int]] = {}

    def behind(self, at: SourceOffset, newest: int) -> tuple[int, int] | None:
        """Files and bytes up to a version; None as long as they are not known."""
        first = at.version + 1
        self._sums = {version: sums for version, sums in self._sums.items() if version >= first}
        if not self._read(first, newest):
            return None
        sums = list(self._sums.values())
        here = self._in_version(at, newest)
        return here[0] + sum(count for count, _ in sums), here[1] + sum(size for _, size in sums)

    def _in_version(self, at: SourceOffset, newest: int) -> tuple[int, int]:
        """Of the version of the offset itself."""
        if at.is_initial:
            initial = self._source.initial_files(at.version)
            return len(initial) - max(at.index + 1, 0), initial.size_after(at.index)
        if at.version > newest:
            return 0, 0
        sizes = [
            file.size or 0
            for commit in self._commits.commits(at.version, at.version)
            for file in self._files.numbered(commit)
            if file.index > at.index
        ]
        return len(sizes), sum(sizes)

    def _read(self, first: int, newest: int) -> bool:
        missing = [version for version in range(first, newest + 1) if version not in self._sums]
        for version in missing[:_AT_ONCE]:
            if not self._commits.has_room:
                return False
            for commit in self._commits.commits(version, version):
                sizes = [file.size or 0 for file in self._files.numbered(commit)]
                self._sums[version] = len(sizes), sum(sizes)
        return len(missing) <= _AT_ONCE


_AT_ONCE = 256
