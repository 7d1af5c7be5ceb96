"""Publishing a version of a Delta table as Iceberg metadata.

Iceberg goes on from what it knows: a commit that adds files writes one manifest and keeps the
others; one that removes files rewrites the manifests that list them. Commits that no one has
published are published along with it. Where that is not possible, everything is written again.

**Why Delta's version never goes back.** A publisher reads the newest metadata file v<N> and writes
v<N+1> with a conditional put, only if its Delta version is newer than the one in v<N>. Of two that
try the same number one fails, looks again, and may find that there is nothing left to do. One that
rebuilds everything, and finds a newer version than its own, rebuilds the newest version.

**Why readers always see a whole snapshot.** Manifests and lists are written first, under names that
no one else has. Until the metadata file is there, no one knows of them; killed before, they are
garbage that VACUUM finds.

**Why no file is lost or doubled.** What Iceberg has in the end must be as many files and bytes as
Delta has, by totals that are counted apart from all this. If not, it is rebuilt from Delta's
files.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

import orjson

from lakebed.errors import (
    ConcurrentWriteError,
    InvalidArgumentError,
    LogCorruptedError,
    ObjectNotFoundError,
)
from lakebed.iceberg.document import (
    can_go_on,
    current_snapshot,
    delta_version,
    is_of,
    later_than,
    make_document,
    schema_id,
)
from lakebed.iceberg.iceberg_table import IcebergTable, describe
from lakebed.iceberg.layout import (
    Current,
    Document,
    create_metadata,
    find_current,
    hint_is,
    point_at,
)
from lakebed.iceberg.metadata_files import clean_up
from lakebed.iceberg.snapshots import Draft, draft_all, draft_changes
from lakebed.iceberg.version_changes import Changes, changes_since
from lakebed.log.post_commit import PostCommit
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.spec.actions import Action

_LOG = logging.getLogger("lakebed")
_ATTEMPTS = 20


class IcebergHook:
    """Publishes each commit of a table that Iceberg's readers are to read."""

    name = "Iceberg metadata"

    def is_due(self, commit: PostCommit) -> bool:
        return _is_for_iceberg(commit.snapshot)

    def run(self, commit: PostCommit) -> None:
        publish_commit(commit.snapshot, commit.actions)


def publish_commit(snapshot: Snapshot, actions: Sequence[Action] = ()) -> bool:
    """Publish what is new up to this version, whose own actions are `actions` if given.

    False if the version, or a newer one, is published already.
    """
    return _publish(snapshot, actions, rebuild=False)


def publish(snapshot: Snapshot) -> None:
    """Publish a version with new manifests for all files, whatever there was before.

    If a newer version is published already, the newest one is published again instead.
    """
    if not _is_for_iceberg(snapshot):
        raise InvalidArgumentError(
            f"{snapshot.store.url} is not a table for readers of Iceberg",
            hint="set delta.universalFormat.enabledFormats = 'iceberg' first",
        )
    _publish(snapshot, (), rebuild=True)


def _is_for_iceberg(snapshot: Snapshot) -> bool:
    return "iceberg" in snapshot.properties.universal_formats


def _publish(snapshot: Snapshot, actions: Sequence[Action], *, rebuild: bool) -> bool:
    now = time.time_ns() // 1_000_000
    table, store = describe(snapshot, now), snapshot.store
    for _ in range(_ATTEMPTS):
        current = find_current(store)
        if not rebuild and current is not None and _knows(current, table):
            if not hint_is(store, current.number):
                point_at(store, current.number)
            return False
        if rebuild and current is not None and _knows(current, table, newer=True):
            # Another publisher was faster. If the log has no newer version either, it went back.
            snapshot = TableLog(store).snapshot()
            table = describe(snapshot, now)
        attempt = _Attempt(snapshot, table, current, now)
        document = attempt.document(actions, rebuild)
        number = 1 if current is None else current.number + 1
        if create_metadata(store, number, orjson.dumps(document)):
            point_at(store, number)
            clean_up(store, table, attempt.before, document)
            return True
        attempt.draft.discard(store)
    raise ConcurrentWriteError(
        f"gave up after {_ATTEMPTS} attempts to publish version {snapshot.version} as Iceberg "
        "metadata: each time another publisher came first",
        version=snapshot.version,
        hint="the next commit publishes this one too",
    )


def _knows(current: Current, table: IcebergTable, *, newer: bool = False) -> bool:
    """Whether the version of the table is published, or a newer one; only a newer one, if asked."""
    document = current.document
    if document is None or not is_of(document, table):
        return False
    published = delta_version(document) or 0
    return published > table.version if newer else published >= table.version


class _Attempt:
    """One attempt to publish on top of one metadata file."""

    def __init__(
        self, snapshot: Snapshot, table: IcebergTable, current: Current | None, now_ms: int
    ) -> None:
        self._snapshot = snapshot
        self._table = table
        self._current = current
        self._now = now_ms
        self.draft = Draft()
        # What is not of this table is not gone on from, nor cleaned up.
        document = None if current is None else current.document
        self.before = document if document is not None and is_of(document, table) else None

    def document(self, actions: Sequence[Action], rebuild: bool) -> Document:
        base = None if rebuild else self._base()
        if base is not None:
            try:
                document = self._continued(base, actions)
            except (LogCorruptedError, ObjectNotFoundError) as error:
                _LOG.warning("%s: its Iceberg metadata is rebuilt: %s", self._table.location, error)
                document = None
            if document is not None:
                return document
            self._forget()
        return self._rebuilt()

    def _base(self) -> Document | None:
        base = self.before
        return base if base is not None and can_go_on(base, self._table) else None

    def _continued(self, base: Document, actions: Sequence[Action]) -> Document | None:
        version = delta_version(base)
        assert version is not None
        changes = changes_since(self._snapshot, version, actions)
        if changes is None:
            return None
        parent = current_snapshot(base)
        assert parent is not None
        store, number = self._snapshot.store, schema_id(base, self._table)
        sequence = base["last-sequence-number"] + 1
        self.draft = draft_changes(store, self._table, changes, parent, number, sequence)
        if not self._is_complete():
            return None
        if not self.draft.changed:
            return self._with_snapshot(base, None, base["last-sequence-number"], changes)
        time_ms = later_than(base, self._now)
        new = self.draft.snapshot(self._table, changes.operation, time_ms, number, parent)
        return self._with_snapshot(base, new, sequence, changes)

    def _rebuilt(self) -> Document:
        sequence = 1 + (0 if self.before is None else self.before["last-sequence-number"])
        number = schema_id(None, self._table)
        self.draft = draft_all(self._snapshot, self._table, number, sequence)
        if not self._is_complete():
            raise LogCorruptedError(
                f"the files of version {self._snapshot.version} do not add up to its totals"
            )
        time_ms = later_than(self.before, self._now)
        new = self.draft.snapshot(self._table, "append", time_ms, number, None)
        return self._with_snapshot(None, new, sequence, Changes())

    def _is_complete(self) -> bool:
        totals = self._snapshot.totals
        return (self.draft.num_files, self.draft.num_bytes) == (
            totals.num_files,
            totals.size_in_bytes,
        )

    def _with_snapshot(
        self,
        base: Document | None,
        snapshot: dict[str, object] | None,
        sequence: int,
        changes: Changes,
    ) -> Document:
        retention = changes.retention_ms
        previous = None
        if self._current is not None and self.before is not None:
            previous = (self._current.number, self.before)
        return make_document(
            base,
            self._table,
            snapshot,
            later_than(self.before, self._now),
            sequence=sequence,
            retention_ms=self._table.retention_ms if retention is None else retention,
            previous=previous,
        )

    def _forget(self) -> None:
        self.draft.discard(self._snapshot.store)
        self.draft = Draft()
