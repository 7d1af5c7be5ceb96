"""Files that a stream has to read, and that VACUUM has removed.

Spark would fail in the middle of a job. Where looking is cheap all files are looked at; elsewhere
those that are so old that VACUUM may have removed them.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence

from lakebed.errors import SourceDataLossError
from lakebed.log.listing.file_locations import FileLocations, exists
from lakebed.log.versions.readable import existing
from lakebed.spec.actions import Add, Remove
from lakebed.storage.store import Store
from lakebed.streaming.source.indexed_file import FileAction, IndexedFile
from lakebed.streaming.source.source_files import SourceFiles
from lakebed.streaming.source.source_log import SourceLog


class FileCheck:
    """`retention` is how long VACUUM keeps files that are not in the table any more, in ms."""

    def __init__(
        self, store: Store, commits: SourceLog, files: SourceFiles, retention: int
    ) -> None:
        self._store = store
        self._locations = FileLocations(store)
        self._commits = commits
        self._files = files
        self._retention = retention

    def check(self, batch: Sequence[IndexedFile], *, is_initial: bool) -> None:
        """An error that says from which version on everything is there."""
        if not self._store.cheap_probes:
            if is_initial:
                # Nearly all of them are old, and nearly all are there.
                return
            oldest = time.time() * 1000 - self._retention
            batch = [file for file in batch if _time(file.action) < oldest]
        gone = self._missing(batch)
        if gone is None:
            return
        version, location = gone
        readable = self._readable_from(version)
        raise SourceDataLossError(
            f"the stream has to read {location}, which version {version} of {self._store.url} "
            f"refers to, but it is gone; it is readable from version {readable} on",
            readable_from=readable,
            hint="VACUUM removes files after delta.deletedFileRetentionDuration: use a new "
            f"checkpoint location and startingVersion {readable}, or restore the file",
        )

    def _missing(self, files: Iterable[IndexedFile]) -> tuple[int, str] | None:
        wanted = {
            location: file.version for file in files for location in self._locations_of(file.action)
        }
        if self._store.cheap_probes:
            there = {location for location in wanted if exists(self._store, location)}
        else:
            there = existing(self._store, wanted.keys())
        gone = ((version, each) for each, version in wanted.items() if each not in there)
        return min(gone, default=None)

    def _readable_from(self, version: int) -> int:
        """Behind the last commit that refers to a file that is gone."""
        readable = version + 1
        for commit in self._commits.commits(version):
            if self._missing(self._files.numbered(commit)) is not None:
                readable = commit.version + 1
        return readable

    def _locations_of(self, action: FileAction | None) -> Iterator[str]:
        if action is None:
            return
        vector = action.deletion_vector if isinstance(action, (Add, Remove)) else None
        yield from self._locations.of(action.path, None if vector is None else vector.to_json())


def _time(action: FileAction | None) -> float:
    """When a file was added; that of a file that was removed, or of a change file, is not known."""
    return action.modification_time if isinstance(action, Add) else 0
