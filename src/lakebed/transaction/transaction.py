"""A change to a table in the making: what it stages, what it has read, and its commit.

transaction = Transaction(snapshot, store=store, operation=Operation("DELETE", {...}))
transaction.read_files(predicate, files)
transaction.stage(*removes, *adds)
version = transaction.commit().unwrap().version
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from lakebed.errors import InvalidArgumentError
from lakebed.expressions.tree import Expression
from lakebed.formats.deletion_vectors import RowIndexSet
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Action, Add, Metadata, Remove
from lakebed.spec.properties import TableProperties
from lakebed.storage.store import Store
from lakebed.transaction.commit import commit
from lakebed.transaction.isolation import IsolationLevel, choose_level
from lakebed.transaction.operation import Operation
from lakebed.transaction.outcome import Outcome
from lakebed.transaction.proposal import Proposal
from lakebed.transaction.read_set import Files, MayMatch, ReadRecorder, paths_of
from lakebed.transaction.retries import Retries
from lakebed.transaction.row_marks import Mark, check_marks
from lakebed.transaction.validation import check_actions


class Transaction:
    """One change on top of `snapshot`; without a snapshot it creates the table.

    `isolation` replaces what the table and the actions ask for. `handles` names the table features
    that the operation takes care of (see `spec.features.check_writable`). Without `row_level`,
    marked rows conflict as if the whole file were changed. `may_match` looks into small files that
    others add meanwhile; without it, their statistics decide. For one thread.
    """

    def __init__(
        self,
        snapshot: Snapshot | None,
        *,
        store: Store | None = None,
        operation: Operation,
        isolation: IsolationLevel | None = None,
        user_metadata: str | None = None,
        handles: Collection[str] = (),
        retries: Retries | None = None,
        row_level: bool = True,
        may_match: MayMatch | None = None,
    ) -> None:
        chosen = store if store is not None or snapshot is None else snapshot.store
        if chosen is None:
            raise InvalidArgumentError("a transaction that creates a table needs a store")
        self.snapshot = snapshot
        self.txn_id = str(uuid.uuid4())
        self._store = chosen
        self._operation = operation
        if user_metadata is not None:
            self._operation = replace(operation, user_metadata=user_metadata)
        self._isolation = isolation
        self._handles = frozenset(handles)
        self._retries = retries or Retries()
        self._actions: list[Action] = []
        self._recommits: set[str] = set()
        self._marks: dict[str, Mark] = {}
        self._row_level = row_level
        self._may_match = may_match
        self._reads = ReadRecorder()
        self._done = False

    # --- changes ----------------------------------------------------------------------------------

    def stage(self, *actions: Action) -> None:
        """Actions to commit. Added files are new to the table, removed ones are in it."""
        self._actions.extend(actions)

    def restage(self, *adds: Add) -> None:
        """Files that are in the table already, to change what the log says about them."""
        self._recommits.update(paths_of(adds))
        self._actions.extend(adds)

    def mark_rows(self, add: Add, rows: RowIndexSet, *, seen: RowIndexSet | None = None) -> None:
        """These rows of a live file go; its vector, if it has one, does not have them yet.

        The commit removes the file and adds it again with a vector of all rows that are gone by
        then, or only removes it if none is left. Other commits may delete other rows of the file
        meanwhile; see `row_conflicts`. That holds for changes that judge each row by itself. Rows
        that stay, but whose presence decided something, are `seen`; who depends on more than that
        calls `read_whole_table`. A file in which no row was found needs no mark and need not be
        named as read: the predicate is enough, since rows that go from it change nothing.

        Calls for the same file add up.
        """
        if self.snapshot is None:
            raise InvalidArgumentError("a table that is about to be created has no rows to mark")
        mark = Mark(add, rows, seen or RowIndexSet())
        known = self._marks.get(mark.path)
        self._marks[mark.path] = mark if known is None else known.merged(mark)

    def metrics(self, metrics: Mapping[str, Any]) -> None:
        """What the history says about the work, with delta-spark's names."""
        merged = {**self._operation.metrics, **metrics}
        self._operation = replace(self._operation, metrics=merged)

    # --- reads ------------------------------------------------------------------------------------

    def read_whole_table(self) -> None:
        """The result depends on every row, and on there being no others."""
        self._reads.whole_table()

    def read_files(self, predicate: Expression | None, files: Files) -> None:
        """The rows that satisfy the predicate were looked for, and found in these files."""
        self._reads.predicate(predicate)
        self._reads.files(files)

    def read_predicate(self, predicate: Expression | None) -> None:
        """The result depends on which rows satisfy the predicate, whatever its columns."""
        self._reads.predicate(predicate)

    def read_paths(self, files: Files) -> None:
        """The result depends on these files, and not on whether there are others."""
        self._reads.files(files)

    def read_txn(self, app_id: str) -> int | None:
        """The last version of an application; that it stays so becomes a condition."""
        self._reads.app(app_id)
        last = None if self.snapshot is None else self.snapshot.transactions.get(app_id)
        return None if last is None else last.version

    # --- commit -----------------------------------------------------------------------------------

    def proposal(self) -> Proposal:
        """The change and its conditions as they are now."""
        actions = tuple(self._actions)
        check_actions(actions)
        check_marks(self._marks, actions)
        return Proposal(
            operation=self._operation,
            actions=actions,
            reads=self._reads.freeze(),
            isolation=self._isolation or self._table_isolation(actions),
            read_version=None if self.snapshot is None else self.snapshot.version,
            txn_id=self.txn_id,
            recommits=frozenset(self._recommits),
            handles=self._handles,
            marks=tuple(self._marks.values()),
            row_level=self._row_level,
            may_match=self._may_match,
        )

    def commit(self) -> Outcome:
        """Commit, or say why not. Errors that are raised mean that nothing was written."""
        if self._done:
            raise InvalidArgumentError(
                "this transaction has been committed or has failed",
                hint="start another one from a new snapshot",
            )
        proposal = self.proposal()
        self._done = True
        return commit(self._store, proposal, self.snapshot, self._retries)

    def _table_isolation(self, actions: tuple[Action, ...]) -> IsolationLevel:
        metadata = next((action for action in actions if isinstance(action, Metadata)), None)
        if metadata is None and self.snapshot is not None:
            metadata = self.snapshot.metadata
        properties = TableProperties({} if metadata is None else metadata.configuration)
        level = IsolationLevel(properties.isolation_level)
        marked = [mark.add for mark in self._marks.values() if mark.rows.cardinality]
        removes = (Remove.of(add, timestamp=0) for add in marked)
        changes = self._operation.changes_data
        return choose_level(level, (*actions, *removes), changes_data=changes)
