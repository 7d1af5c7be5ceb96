"""The commit loop: try the next version, and if somebody else has it, go on from there.

PROTOCOL: Creation of New Log Entries. `put_if_absent` of the file of a version is the whole commit:
it is atomic, and of all that try a version at most one succeeds. Some servers only pretend that, so
before its first commit a process makes the store refuse one (`storage/obstore/put_probe.py`).

**Why no commit is lost or doubled.** Every transaction puts a random `txnId` into its commits, so
a commit can be recognised as its own. A put can end in three ways: it is there; somebody else's is
there; or an error that says neither. After such an error, and also after "exists" (the client may
have repeated a put whose answer was lost), the file is read back. Ours: committed. Another's: the
race for this version is lost for good, since a version is never written twice, so no put of ours
that is still under way can land. Absent: a put may yet land, so the very same bytes are put again
at the very same version, which is harmless whichever of the two lands. Only one thing allows the
step to the next version: having *seen* another's commit at this one. So at any moment there is at
most one version at which a put of ours can land, and the transaction lands at most once.

Marked rows (`row_marks`) become actions at the draft of a version: their vectors are written before
the put, under names that no one else uses, and written again only if a winner changed the files. A
vector that no commit names means nothing to anybody.

If the store cannot say what is there, the outcome is unknown, and it is unknown at exactly one
version. Errors that `commit` raises instead (a store that cannot be read, actions that are not
valid) mean that nothing was written: they happen when no put is under way.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from lakebed.errors import (
    CommitUnknownError,
    ConcurrentWriteError,
    ConflictError,
    LakebedError,
    LogCorruptedError,
    NotWrittenError,
    ObjectNotFoundError,
    StorageError,
)
from lakebed.log.listing.listing import list_log
from lakebed.log.listing.log_names import PUT_PROBE, commit_path
from lakebed.log.post_commit import run_hooks
from lakebed.log.snapshot import Snapshot
from lakebed.storage.store import Store
from lakebed.transaction import row_tracking
from lakebed.transaction.conflicts.conflicts import find_conflict
from lakebed.transaction.draft import Draft, make_draft, new_files
from lakebed.transaction.outcome import Committed, Conflict, Outcome, Unknown
from lakebed.transaction.post_commit_hooks import POST_COMMIT_HOOKS
from lakebed.transaction.proposal import Proposal
from lakebed.transaction.retries import Retries
from lakebed.transaction.row_marks import StoredMark, Vectors, carry_over, store_marks
from lakebed.transaction.validation import Target, check_table, target_of
from lakebed.transaction.winner import Winner

# A version that is older than this may have been followed by commits that were cleaned up since.
_FRESH_SECONDS = 60.0
_SINGLY = 2
_AT_ONCE = 256


def commit(store: Store, proposal: Proposal, base: Snapshot | None, retries: Retries) -> Outcome:
    """Commit on top of `base`, or of whatever is compatible with it by then."""
    store.require_put_if_absent(PUT_PROBE)
    gone = _vanished_commits(store, base, retries)
    if gone is not None:
        return Conflict(gone)
    return _Loop(store, proposal, base, retries).run()


class _Loop:
    """The state of one commit: what it wants and what it stands on, both moving as others win."""

    def __init__(
        self, store: Store, proposal: Proposal, base: Snapshot | None, retries: Retries
    ) -> None:
        self._store = store
        self._proposal = proposal
        self._base = base
        self._retries = retries
        self._target: Target | None = None
        self._vectors = Vectors(store)
        self._stored_marks: list[StoredMark] | None = None

    def run(self) -> Outcome:
        started, attempt = time.monotonic(), 0
        while True:
            attempt += 1
            draft = self._retries.reading(self._draft)
            self._store.sync(new_files(draft.actions), is_new=self._base is None)
            try:
                winner = self._write(draft)
            except CommitUnknownError as unknown:
                return Unknown(unknown, draft.version)
            if winner is None:
                return self._finish(draft, attempt)
            error = self._rebase(winner)
            if error is None and self._retries.exhausted(attempt, started):
                error = _gave_up(attempt, time.monotonic() - started, draft.version)
            if error is not None:
                return Conflict(error, attempt)
            self._retries.pause_after_race(attempt)

    def _draft(self) -> Draft:
        if self._target is None:
            self._target = target_of(self._proposal, self._base)
            check_table(self._proposal, self._base, self._target)
        if self._stored_marks is None:
            marks, properties = self._proposal.marks, self._target.properties
            self._stored_marks = store_marks(self._store, marks, self._vectors, properties)
        now = time.time_ns() // 1_000_000
        return make_draft(
            self._store, self._proposal, self._base, self._target, now, self._stored_marks
        )

    def _write(self, draft: Draft) -> Winner | None:
        """None if ours is there, else the commit that is there instead."""
        failure: LakebedError
        is_open = False
        for attempt in range(self._retries.storage_tries):
            if attempt:
                self._retries.pause_after_failure(attempt - 1)
            try:
                self._store.put_if_absent(draft.path, draft.data)
                return None
            except NotWrittenError as error:
                if not is_open:
                    raise
                failure = error
            except StorageError as error:
                is_open, failure = True, error
            try:
                found = Winner.parse(draft.version, self._store.get(draft.path))
                if found.txn_id != self._proposal.txn_id:
                    return found
                self._store.confirm(draft.path)
                return None
            except ObjectNotFoundError:
                continue  # a put may be under way: only the same put is safe
            except (StorageError, LogCorruptedError) as error:
                failure = error
        raise CommitUnknownError(
            f"it is not known whether version {draft.version} was committed: {failure.message}",
            hint=f"look for txnId {self._proposal.txn_id} in {draft.path} once the store answers",
        ) from failure

    def _rebase(self, first: Winner) -> ConflictError | None:
        """Go on from the newest version, unless one of the commits up to it is in the way."""
        if self._base is None:
            return _created_by_another(first)
        for winner in self._winners(first):
            find = partial(find_conflict, self._proposal, self._base, winner, self._vectors)
            error = self._retries.reading(find)
            if error is not None:
                return error
            self._step_over(self._base, winner)
        return None

    def _step_over(self, base: Snapshot, winner: Winner) -> None:
        self._base = base.after(winner.version, winner.actions, fresh=winner.only_adds_new_files)
        actions = row_tracking.adopt(self._proposal.actions, winner.adds)
        marks = carry_over(self._proposal.marks, winner)
        if marks != self._proposal.marks:
            self._stored_marks = self._target = None
            self._vectors.keep_only(marks)
        self._proposal = replace(self._proposal, actions=tuple(actions), marks=marks)
        if winner.metadata is not None or winner.protocol is not None:
            self._target = None

    def _winners(self, first: Winner) -> Iterator[Winner]:
        """The commits since, as far as there are any now."""
        yield first
        version, found_singly = first.version + 1, 0
        while True:
            # Most races are lost to a commit or two; whoever is far behind lists, then reads many.
            if found_singly >= _SINGLY and not self._store.cheap_probes:
                found = self._read_many(version)
            else:
                found = self._read_one(version)
            if not found:
                return
            found_singly += 1
            for data in found:
                yield Winner.parse(version, data)
                version += 1

    def _read_one(self, version: int) -> list[bytes]:
        try:
            return [self._retries.reading(lambda: self._store.get(commit_path(version)))]
        except ObjectNotFoundError:
            return []

    def _read_many(self, version: int) -> list[bytes]:
        files = self._retries.reading(lambda: list_log(self._store, version))
        there = {file.version for file in files if file.kind == "commit"}
        paths: list[str] = []
        while version in there and len(paths) < _AT_ONCE:
            paths.append(commit_path(version))
            version += 1
        return self._retries.reading(lambda: self._store.get_many(paths))

    def _finish(self, draft: Draft, attempts: int) -> Committed:
        done = run_hooks(
            POST_COMMIT_HOOKS, draft.snapshot, previous=self._base, actions=draft.actions
        )
        return Committed(draft.version, done.snapshot, attempts, draft.actions, done.errors)


def _vanished_commits(
    store: Store, base: Snapshot | None, retries: Retries
) -> ConcurrentWriteError | None:
    """A free name proves that no one committed only as long as no commit has been cleaned up.

    So whoever creates a table, or read it long ago, looks at the log first.
    """
    if base is not None and 0 <= time.time() - base.opened_at < _FRESH_SECONDS:
        return None
    version = 0 if base is None else base.version + 1
    files = retries.reading(lambda: list_log(store, version))
    newest = max((f.version for f in files if f.kind in ("commit", "checkpoint")), default=None)
    if newest is None or retries.reading(lambda: store.exists(commit_path(version))):
        return None
    return ConcurrentWriteError(
        f"the table is at version {newest}, and the commits from {version} on have been cleaned up",
        version=newest,
        hint="open the table again and repeat the operation",
    )


def _created_by_another(winner: Winner) -> ConcurrentWriteError:
    operation = winner.operation or "an operation that did not give its name"
    return ConcurrentWriteError(
        f"version {winner.version} ({operation}) was committed first: somebody else has created "
        "the table",
        version=winner.version,
        operation=winner.operation,
        hint="open the table and write to it, or choose another path",
    )


def _gave_up(attempts: int, seconds: float, version: int) -> ConcurrentWriteError:
    return ConcurrentWriteError(
        f"gave up after {attempts} attempts in {seconds:.1f} s: each time another commit came "
        f"first, the last one as version {version}",
        version=version,
        hint="raise the limits of `Retries`, or let fewer writers work at the same time",
    )
