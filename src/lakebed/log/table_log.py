"""The log of one table: the way in to its versions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone

import pyarrow as pa

from lakebed.errors import InvalidArgumentError, TableNotFoundError, VersionNotFoundError
from lakebed.formats import commit_file as commit
from lakebed.log.listing.commit_times import CommitTimes, to_millis
from lakebed.log.listing.listing import latest_segment, list_log, newer_commits, segment_at
from lakebed.log.listing.log_names import LogFile, commit_path
from lakebed.log.listing.segment import complete_checkpoints
from lakebed.log.snapshot import Snapshot
from lakebed.log.versions.history import read_history
from lakebed.spec.actions import Action
from lakebed.storage.store import Store


class TableLog:
    """Opens versions and history. Holds no state but the store."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def exists(self) -> bool:
        """Whether there is a table: a log with at least a commit or a checkpoint."""
        try:
            latest_segment(self.store)
        except TableNotFoundError:
            return False
        return True

    def snapshot(
        self, version: int | None = None, timestamp: str | datetime | int | None = None
    ) -> Snapshot:
        if version is not None and timestamp is not None:
            raise InvalidArgumentError("give a version or a timestamp, not both")
        if version is not None:
            return self.at_version(version)
        if timestamp is not None:
            return self.at_version(self.version_at(timestamp))
        return Snapshot(self.store, latest_segment(self.store))

    def at_version(self, version: int) -> Snapshot:
        if isinstance(version, bool) or not isinstance(version, int) or version < 0:
            raise InvalidArgumentError(
                f"{version!r} is not a version", hint="versions are whole numbers from 0 on"
            )
        return Snapshot(self.store, segment_at(self.store, version))

    def version_at(self, timestamp: str | datetime | int) -> int:
        """The newest version that was there at `timestamp`."""
        return self._times(self._readable()).version_at(to_millis(timestamp))

    def commit_actions(self, version: int) -> list[Action]:
        """What a commit says, in its order."""
        path = commit_path(version)
        return list(commit.decode_actions(self.store.get(path), path))

    def newer(self, snapshot: Snapshot) -> Snapshot:
        """The newest version, from an older one and the commits since."""
        for file in newer_commits(self.store, snapshot.version):
            actions = commit.decode_actions(self.store.get(file.path), file.path)
            snapshot = snapshot.after(file.version, actions)
        snapshot.recall_totals()
        return snapshot

    def history(self, limit: int | None = None) -> pa.Table:
        """delta-spark's columns, newest first."""
        commits = self._commits()
        times = self._times(commits)
        chosen = commits if limit is None else commits[max(len(commits) - limit, 0) :]
        return read_history(self.store, chosen, times)

    def time_of(self, snapshot: Snapshot) -> datetime:
        """When a version was committed."""
        commits = [file for file in self._commits() if file.version <= snapshot.version]
        if not commits or commits[-1].version != snapshot.version:
            raise VersionNotFoundError(
                f"when version {snapshot.version} was made is not known: its commit is gone"
            )
        timestamp = CommitTimes(self.store, commits, snapshot.properties).time_of(snapshot.version)
        return datetime.fromtimestamp(timestamp / 1000, timezone.utc)

    def _times(self, commits: Sequence[LogFile]) -> CommitTimes:
        properties = Snapshot(self.store, latest_segment(self.store)).properties
        return CommitTimes(self.store, commits, properties)

    def _commits(self) -> list[LogFile]:
        """The commits that are there, contiguous up to the newest."""
        found = [file for file in list_log(self.store) if file.kind == "commit"]
        if not found:
            raise VersionNotFoundError(f"{self.store.url} has no commits in its log")
        start = len(found) - 1
        while start > 0 and found[start - 1].version == found[start].version - 1:
            start -= 1
        return found[start:]

    def _readable(self) -> list[LogFile]:
        """The commits whose versions can be rebuilt: all from 0, or from a checkpoint on."""
        commits = self._commits()
        if commits[0].version == 0:
            return commits
        checkpoints: dict[int, list[LogFile]] = {}
        for file in list_log(self.store):
            if file.kind == "checkpoint":
                checkpoints.setdefault(file.version, []).append(file)
        usable = [v for v in complete_checkpoints(checkpoints) if v >= commits[0].version - 1]
        readable = [file for file in commits if usable and file.version >= min(usable)]
        if not readable:
            raise VersionNotFoundError("no version whose time is known can be rebuilt")
        return readable
