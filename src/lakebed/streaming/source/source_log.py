"""The commits of a source, each read once by the stream, and what was removed before it was read.

Looking for what is new costs one look at the log: a few probes on local disks, else a listing.
Commits are read some at a time, and stay in memory until the stream is past them, as far as
`_MOST_BYTES` reach; larger ones are read again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lakebed.errors import (
    LogCorruptedError,
    ObjectNotFoundError,
    SourceDataLossError,
    SourceReplacedError,
    TableNotFoundError,
)
from lakebed.formats import commit_file
from lakebed.log.listing.listing import list_log, newer_commits
from lakebed.log.listing.log_names import LogFile, commit_path
from lakebed.log.table_log import TableLog
from lakebed.spec.actions import Action, Add, AddCdc, CommitInfo, Metadata, Protocol, Remove
from lakebed.storage.store import Store


@dataclass(frozen=True)
class SourceCommit:
    """What a version did."""

    version: int
    actions: Sequence[Action]


class SourceLog:
    """The commits from some version on, of the table with this id."""

    def __init__(self, store: Store, table_id: str, *, fails_on_data_loss: bool = True) -> None:
        self._store = store
        self._table_id = table_id
        self._fails = fails_on_data_loss
        self._known: dict[int, LogFile] = {}
        self._kept: dict[int, tuple[SourceCommit, int]] = {}
        self._kept_bytes = 0
        self._ahead: dict[int, bytes] = {}
        self._newest: tuple[int, tuple[int, int]] | None = None
        """The version before the one that was last looked for, and the stamp of its commit."""

    def commits(
        self, start: int, last: int | None = None, *, was_seen: bool = False
    ) -> Iterator[SourceCommit]:
        """All from `start` on that are there, up to `last`. With `was_seen` that one was there."""
        version = start
        while last is None or version <= last:
            commit = self._commit(version)
            if commit is not None:
                yield commit
                version += 1
                continue
            later = min((each for each in self._known if each > version), default=None)
            if later is None and not was_seen:
                return
            if self._fails:
                raise self._lost(version, later, last)
            if later is None:
                return
            version = later

    def forget_before(self, version: int) -> None:
        """The stream will not ask for older ones again."""
        for each in [known for known in self._known if known < version]:
            del self._known[each]
        for each in [kept for kept in self._kept if kept < version]:
            self._kept_bytes -= self._kept.pop(each)[1]

    @property
    def newest(self) -> int:
        """The newest version that was seen; -1 before the first look."""
        return max(self._known, default=-1 if self._newest is None else self._newest[0])

    @property
    def has_room(self) -> bool:
        """Whether commits that are read now will not have to be read again."""
        return self._kept_bytes < _MOST_BYTES

    # --- reading ---

    def _commit(self, version: int) -> SourceCommit | None:
        kept = self._kept.get(version)
        if kept is not None:
            return kept[0]
        if version not in self._ahead:
            self._read_ahead(version)
        data = self._ahead.pop(version, None)
        if data is None:
            return None
        path = commit_path(version)
        commit = SourceCommit(version, commit_file.decode_actions(data, path, _WANTED))
        if self._kept_bytes + len(data) <= _MOST_BYTES:
            self._kept[version] = (commit, len(data))
            self._kept_bytes += len(data)
        return commit

    def _read_ahead(self, version: int) -> None:
        """The commit and some after it, if it is there."""
        self._ahead = {}
        for _ in range(2):
            if version not in self._known:
                self._look(version)
            if version not in self._known:
                return
            versions = self._chunk(version)
            try:
                bodies = self._store.get_many([commit_path(each) for each in versions])
            except ObjectNotFoundError:
                # Removed since the look at the log.
                self._known = {v: file for v, file in self._known.items() if v < version}
                continue
            self._ahead = dict(zip(versions, bodies, strict=True))
            return

    def _chunk(self, version: int) -> list[int]:
        most = 1 if self._store.cheap_probes else _CHUNK
        chosen, size = [version], self._known[version].size
        while len(chosen) < most and (file := self._known.get(chosen[-1] + 1)) is not None:
            size += file.size
            if size > _CHUNK_BYTES or file.version in self._kept:
                break
            chosen.append(file.version)
        return chosen

    # --- looking for commits ---

    def _look(self, version: int) -> None:
        """Finds the commits from `version` on."""
        if not self._is_continued(version):
            self._check_table(version)
            found = self._listed(version)
        elif self._store.cheap_probes and version:
            found = self._probed(version)
        else:
            found = self._listed(version)
        self._known.update({file.version: file for file in found})

    def _is_continued(self, version: int) -> bool:
        """Whether the commit before is still the one that it was. Otherwise the log was cleaned
        up, or another table is there now.
        """
        if version == 0:
            return True
        stamp = self._stamp(version - 1)
        before, self._newest = self._newest, None if stamp is None else (version - 1, stamp)
        if stamp is None:
            return False
        return before is None or before[0] != version - 1 or before[1] == stamp

    def _stamp(self, version: int) -> tuple[int, int] | None:
        try:
            found = self._store.head(commit_path(version))
        except ObjectNotFoundError:
            return None
        return found.size, found.modified_ms

    def _probed(self, version: int) -> list[LogFile]:
        try:
            return newer_commits(self._store, version - 1)
        except LogCorruptedError:
            return self._listed(version)

    def _listed(self, version: int) -> list[LogFile]:
        found = self._list(version)
        if found and [file.version for file in found] != list(
            range(version, found[-1].version + 1)
        ):
            # A listing that runs beside writers may see a commit and not the one before it. What
            # is older than a commit that was seen is in a listing that starts now.
            newest = found[-1].version
            found = [file for file in self._list(version) if file.version <= newest]
        return found

    def _list(self, version: int) -> list[LogFile]:
        files = list_log(self._store, version)
        return [file for file in files if file.kind == "commit" and file.version >= version]

    # --- errors ---

    def _check_table(self, version: int) -> None:
        """The commit before `version` is gone or another one: is this still the same table?"""
        try:
            snapshot = TableLog(self._store).snapshot()
        except TableNotFoundError as error:
            raise SourceReplacedError(
                f"{self._store.url} is not a table any more: it was dropped while a stream reads "
                "it",
                hint="start the query again, with a new checkpoint location, if there is a table",
            ) from error
        if snapshot.metadata.id != self._table_id:
            raise SourceReplacedError(
                f"{self._store.url} was replaced by another table while a stream reads it: its id "
                f"was {self._table_id}, and is now {snapshot.metadata.id}",
                hint="start the query with a new checkpoint location",
            )
        if snapshot.version < version - 1:
            raise SourceReplacedError(
                f"{self._store.url} is at version {snapshot.version}, but the stream has read it "
                f"up to version {version - 1}: the table was replaced by an older copy",
                hint="start the query with a new checkpoint location",
            )

    def _lost(self, version: int, later: int | None, last: int | None) -> SourceDataLossError:
        until = last if later is None else later - 1
        what = f"the commit of version {version} is"
        if until != version:
            what = f"the commits of versions {version} to {until} are"
        start = "" if later is None else f"; it is readable from version {later} on"
        advice = "" if later is None else f" and startingVersion {later}"
        return SourceDataLossError(
            f"{what} missing in the log of {self._store.url}, and the stream has not read it yet"
            f"{start}",
            readable_from=later,
            hint="log clean-up removes commits after delta.logRetentionDuration: use a new "
            f"checkpoint location{advice}, or set failOnDataLoss to false to leave out what is "
            "missing",
        )


_WANTED = (Add, Remove, AddCdc, Metadata, Protocol, CommitInfo)
_MOST_BYTES = 32 << 20
_CHUNK = 64
_CHUNK_BYTES = 4 << 20
