"""Committing a change of rows: the changed rows become deletion vectors or new files, and a commit.

With deletion vectors (`delta.enableDeletionVectors`) changed rows are marked in their files and
only new rows are written. Without, the other rows of these files are written again. The change
feed (PROTOCOL: Change Data Files) gets files of its own where readers could not tell the changes
from the files of the commit: where rows were updated, or copied.

All of this is decided here; rows are found and written by Spark (`frame_changes`) or by Arrow
(`commands.rows.arrow`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from lakebed.arrow.file_rows import may_match
from lakebed.commands.rows.changed_files import ChangedFiles
from lakebed.commands.target.write_target import Target
from lakebed.data_files.file_layout import HANDLED_FEATURES, FileLayout, WrittenFiles
from lakebed.errors import JobFailedError
from lakebed.expressions import Expression
from lakebed.formats.deletion_vectors import RowIndexSet
from lakebed.log.snapshot import Snapshot
from lakebed.log.synthetic_snapshot import mapped_field
from lakebed.spec.actions import Action, Add, AddCdc, Remove, Txn
from lakebed.spec.features import is_supported
from lakebed.spec.schema import STRING, StructField, schema_to_json
from lakebed.transaction import Committed, Operation, Transaction
from lakebed.transaction.row_tracking import PRESERVED_TAG

CHANGE_TYPE = "_change_type"


@dataclass(frozen=True)
class Writing:
    """What is to be written of a change. `table` is what the table becomes."""

    table: Target
    layout: FileLayout
    copies: bool
    """Whether the rows of marked files that are not marked are written again."""
    changes: FileLayout | None
    """The layout of files for the change feed, with `CHANGE_TYPE`; None if it needs none."""


class ChangedRows(Protocol):
    """The rows that a command deletes and adds, on any data plane."""

    @property
    def files(self) -> ChangedFiles:
        """The files that were looked at."""
        ...

    @property
    def marks(self) -> Mapping[int, RowIndexSet]:
        """The rows that go, by the number of their file; not empty."""
        ...

    @property
    def seen(self) -> Mapping[int, RowIndexSet]:
        """Rows that stay, but whose presence decided something."""
        ...

    @property
    def predicate(self) -> Expression | None:
        """What is true of all rows that the command looked for; None if nothing is known."""
        ...

    @property
    def has_updates(self) -> bool: ...

    @property
    def num_new(self) -> int | None:
        """How many new rows there have to be, if that is known."""
        ...

    @property
    def table(self) -> Target | None:
        """What the table becomes, if the command changes its schema."""
        ...

    def counted(self) -> ChangedRows:
        """The same, in which all files with marks say how many rows they have."""
        ...

    def write(self, wanted: Writing) -> WrittenRows:
        """Writes new rows and copies, which fit the table by then, as files of no commit."""
        ...


@dataclass(frozen=True)
class WrittenRows:
    """`changed` is what was written, with marks that are final."""

    changed: ChangedRows
    files: WrittenFiles
    """New rows and copied ones."""
    changes: Sequence[AddCdc] = ()


class Changing(Protocol):
    """What all planes say about a command."""

    @property
    def row_level(self) -> bool: ...

    @property
    def user_metadata(self) -> str | None: ...

    @property
    def txn(self) -> tuple[str, int] | None:
        """The application and its version by which a change that is repeated is recognized."""
        ...


def uses_vectors(snapshot: Snapshot) -> bool:
    enabled = snapshot.properties.enable_deletion_vectors
    return bool(enabled) and is_supported(snapshot.protocol, "deletionVectors")


class RowChange:
    """One attempt of a command, on one version."""

    def __init__(
        self,
        target: Changing,
        snapshot: Snapshot,
        operation: Operation,
        names: Mapping[str, str] | None = None,
    ) -> None:
        """`names` are other names of metrics than those of DELETE and UPDATE."""
        self._snapshot = snapshot
        self._tracks = bool(snapshot.properties.enable_row_tracking)
        tags = {PRESERVED_TAG: "true"} if self._tracks else {}
        self.transaction = Transaction(
            snapshot,
            store=snapshot.store,
            operation=replace(operation, tags={**operation.tags, **tags}),
            user_metadata=target.user_metadata,
            handles=HANDLED_FEATURES,
            row_level=target.row_level,
            may_match=may_match if target.row_level else None,
        )
        self._txn = target.txn
        self._names = names or {}
        self._started = time.monotonic()

    def commit(
        self, changed: ChangedRows, count: Callable[[int, int], Mapping[str, int]]
    ) -> dict[str, int]:
        """Writes what is to be written and commits; all metrics of the command.

        `count` gets the numbers of new rows and of copied ones, and gives the metrics that only the
        command knows.
        """
        writing = time.monotonic()
        self.transaction.read_predicate(changed.predicate)
        changed = changed.counted()
        table = changed.table or Target(self._snapshot.metadata, self._snapshot.protocol)
        layout = FileLayout.of(table.metadata, table.protocol)
        vectors = uses_vectors(self._snapshot)
        changes = self._change_layout(changed, layout)
        written = changed.write(Writing(table, layout, not vectors, changes))
        changed = written.changed
        copied = 0 if vectors else changed.files.num_kept(changed.marks)
        num_new = written.files.num_rows - copied
        if not changed.marks and not num_new and changed.table is None:
            return dict(count(0, 0))
        if changed.num_new is not None:
            _check_count(num_new, changed.num_new)
        if vectors:
            self._mark(changed)
        else:
            self._remove(changed)
        self.transaction.stage(*self._table_changes(table, written.files))
        self.transaction.stage(*written.files.adds, *written.changes)
        counted = {
            **count(num_new, copied),
            "numAddedFiles": len(written.files.adds),
            "numAddedBytes": sum(add.size for add in written.files.adds),
            "numAddedChangeFiles": len(written.changes),
            "numCopiedRows": copied,
            "executionTimeMs": _millis(self._started),
            "scanTimeMs": int((writing - self._started) * 1000),
            "rewriteTimeMs": _millis(writing),
        }
        return self._finish(counted, changed)

    # --- files that change ---

    def _mark(self, changed: ChangedRows) -> None:
        for number in changed.marks.keys() | changed.seen.keys():
            rows = changed.marks.get(number, RowIndexSet())
            seen = changed.seen.get(number)
            self.transaction.mark_rows(changed.files.adds[number], rows, seen=seen)

    def _remove(self, changed: ChangedRows) -> None:
        adds = changed.files.adds
        self.transaction.read_paths([adds[n] for n in changed.marks.keys() | changed.seen.keys()])
        self.remove([adds[number] for number in changed.marks])

    def remove(self, adds: Sequence[Add]) -> None:
        now = int(time.time() * 1000)
        self.transaction.stage(*[Remove.of(add, timestamp=now) for add in adds])

    # --- the change feed ---

    def _change_layout(self, changed: ChangedRows, layout: FileLayout) -> FileLayout | None:
        if not self._snapshot.properties.enable_change_data_feed:
            return None
        if not changed.has_updates and not self._copies(changed):
            return None
        kind = mapped_field(StructField(CHANGE_TYPE, STRING), _CHANGE_NUMBER, layout.mode)
        return layout.with_columns([kind])

    def _copies(self, changed: ChangedRows) -> bool:
        """Whether rows that did not change get new files."""
        if uses_vectors(self._snapshot):
            return False
        return any(
            not changed.files.is_dead(number, rows) for number, rows in changed.marks.items()
        )

    # --- the commit ---

    def _table_changes(self, table: Target, written: WrittenFiles) -> list[Action]:
        """New metadata and protocol, if the schema changed or marks of identity columns moved."""
        actions: list[Action] = []
        metadata = table.metadata
        if written.schema != table.schema:
            metadata = replace(metadata, schema_string=schema_to_json(written.schema))
        if table.protocol != self._snapshot.protocol:
            actions.append(table.protocol)
        if metadata != self._snapshot.metadata:
            actions.append(metadata)
        return actions

    def finish(self, metrics: Mapping[str, int]) -> dict[str, int]:
        """Commits what is staged, for changes that need no rows."""
        times = {"executionTimeMs": _millis(self._started), "scanTimeMs": 0, "rewriteTimeMs": 0}
        return self._finish({**metrics, **times}, None)

    def _finish(self, metrics: Mapping[str, int], changed: ChangedRows | None) -> dict[str, int]:
        more = _vector_metrics(changed, self._snapshot) if changed else {}
        counted = {self._names.get(key, key): value for key, value in {**metrics, **more}.items()}
        self.transaction.metrics(counted)
        if self._txn is not None:
            app_id, version = self._txn
            self.transaction.stage(Txn(app_id, version, last_updated=int(time.time() * 1000)))
        outcome = self.transaction.commit().unwrap()
        assert isinstance(outcome, Committed)
        return counted


def _vector_metrics(changed: ChangedRows, snapshot: Snapshot) -> dict[str, int]:
    """Files that went, and vectors by what became of them."""
    files = changed.files
    dead = [n for n, rows in changed.marks.items() if files.is_dead(n, rows)]
    had = [n for n in changed.marks if files.adds[n].deletion_vector is not None]
    gone = dead if uses_vectors(snapshot) else list(changed.marks)
    vectors = uses_vectors(snapshot)
    updated = [n for n in had if n not in dead] if vectors else []
    added = [n for n in changed.marks if n not in dead] if vectors else []
    return {
        "numRemovedFiles": len(gone),
        "numRemovedBytes": sum(files.adds[n].size for n in gone),
        "numDeletionVectorsAdded": len(added),
        "numDeletionVectorsRemoved": len(had),
        "numDeletionVectorsUpdated": len(updated),
    }


def _check_count(written: int, expected: int) -> None:
    if written != expected:
        raise JobFailedError(
            f"{expected} rows were to be written, but {written} were: a second look at the rows "
            "found others than the first, so nothing was committed",
            hint="a condition or a source gives another result each time; store the source first",
        )


def _millis(since: float) -> int:
    return int((time.monotonic() - since) * 1000)


_CHANGE_NUMBER = 10
