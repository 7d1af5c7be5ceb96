"""The newest version of a table, for readers that ask for it again and again."""

from __future__ import annotations

import threading

from lakebed.errors import LogCorruptedError, ObjectNotFoundError
from lakebed.formats import commit_file as commit
from lakebed.log.listing.listing import list_log, newer_commits
from lakebed.log.listing.log_names import LogFile, commit_path
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog

_MOST_COMMITS = 64
"""With more commits to read, a checkpoint is probably cheaper."""


class NewestVersion:
    """Asking costs one look at the log, and what was committed since the last time."""

    def __init__(self, log: TableLog, known: Snapshot) -> None:
        self._log = log
        self._known = known
        self._stamp = _stamp(log, known)
        self._lock = threading.Lock()

    def snapshot(self) -> Snapshot:
        """The same object as the last time if nothing was committed since."""
        with self._lock:
            found = self._newer()
            if found is not self._known:
                self._known = found
                self._stamp = _stamp(self._log, found)
            return self._known

    def _newer(self) -> Snapshot:
        commits = self._commits()
        if commits is None or len(commits) > _MOST_COMMITS:
            return self._log.snapshot()
        found = self._known
        for file in commits:
            actions = commit.decode_actions(self._log.store.get(file.path), file.path)
            found = found.after(file.version, actions)
        if commits:
            found.recall_totals()
        return found

    def _commits(self) -> list[LogFile] | None:
        """The commits since; None if the log is not a continuation of what is known.

        That is so after the folder was deleted and another table created there: the commit of the
        known version is then gone or another one.
        """
        if self._stamp is None:
            return None
        store, version = self._log.store, self._known.version
        try:
            if store.cheap_probes:
                is_same = _stamp(self._log, self._known) == self._stamp
                return newer_commits(store, version) if is_same else None
            files = [file for file in list_log(store, version) if file.kind == "commit"]
        except LogCorruptedError:
            return None
        numbers = [file.version for file in files]
        is_same = bool(files) and _listed(files[0]) == self._stamp
        if not is_same or numbers != list(range(version, version + len(files))):
            return None
        return files[1:]


def _stamp(log: TableLog, snapshot: Snapshot) -> tuple[int, int] | None:
    """What tells a commit from another one of the same version; None if it is gone."""
    newest = snapshot.segment.commits[-1:]
    if not log.store.cheap_probes and newest and newest[0].modified_ms:
        return _listed(newest[0])
    try:
        found = log.store.head(commit_path(snapshot.version))
    except ObjectNotFoundError:
        return None
    if log.store.cheap_probes:
        return found.size, found.modified_ms
    return found.size, found.modified_ms // 1000


def _listed(file: LogFile) -> tuple[int, int]:
    """In seconds: object stores round the time of an object in some answers and not in others."""
    return file.size, file.modified_ms // 1000
