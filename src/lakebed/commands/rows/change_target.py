"""A table whose rows a command changes, on any data plane; and how often a change is tried.

`FrameTarget` is a table on Spark, `TableTarget` one without.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from lakebed.arrow.file_rows import rows_at
from lakebed.commands.rows.assignments import Assignment
from lakebed.commands.rows.row_change import ChangedRows, Changing, RowChange
from lakebed.errors import (
    AppendOnlyError,
    ConcurrentTransactionError,
    ConflictError,
    DataFileError,
    MetadataChangedError,
    RowConflictError,
)
from lakebed.expressions import Expression
from lakebed.formats.file_actions import adds_from_table
from lakebed.log.file_state import ADD_FIELDS
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Add
from lakebed.spec.columns.column_metadata import identity
from lakebed.transaction import Operation
from lakebed.transaction.conflicts.conflict_errors import is_retryable
from lakebed.transaction.read_set import paths_of

ATTEMPTS = 10
_ROW_COUNTS = (
    *("numDeletedRows", "numUpdatedRows", "numSourceRows"),
    *("numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted"),
)
Attempt = Callable[[Snapshot], dict[str, int]]


class Condition(Protocol):
    """The condition of a DELETE or an UPDATE on one version of the table."""

    @property
    def operation(self) -> Operation: ...

    @property
    def predicate(self) -> Expression | None:
        """The condition as Lakebed reads it; None if only Spark knows which rows it selects."""
        ...

    @property
    def selects_whole_files(self) -> bool:
        """Whether the log alone tells: all rows, or all rows of some partitions."""
        ...

    def files(self) -> list[Add]:
        """The files that may have such rows, by the log."""
        ...

    def deleted(self, adds: Sequence[Add], change: RowChange) -> ChangedRows | None:
        """The rows of the files, which go; None if there are none."""
        ...

    def updated(
        self, adds: Sequence[Add], given: Sequence[Assignment], change: RowChange
    ) -> ChangedRows | None:
        """The rows of the files, which get new values; None if there are none."""
        ...


class ChangeTarget(Changing, Protocol):
    """A condition is SQL text, or on Spark a Column; None is true for all rows."""

    @property
    def alias(self) -> str | None: ...

    def change(self, attempt: Attempt) -> dict[str, int]:
        """Runs a command on the newest version, as often as `repeated` does."""
        ...

    def condition(
        self, snapshot: Snapshot, condition: Any, command: str, said: Any = None
    ) -> Condition:
        """`said` is the condition for the history where it selects all rows."""
        ...

    def described(self, condition: Any) -> list[str]:
        """As `operationParameters` have it: a list with one string, or an empty one."""
        ...


def repeated(
    newest: Callable[[], Snapshot], attempt: Attempt, txn: tuple[str, int] | None = None
) -> dict[str, int]:
    """Runs the command on the newest version, again if another commit makes it start over.

    A command says which rows it means, not which it found: repeated, it is as if it had come later.
    Only if another writer changed the very same rows it fails. With `txn` it does nothing if the
    table has that version of the application already.
    """
    for number in range(ATTEMPTS):
        snapshot = _writable(newest())
        if txn is not None and snapshot.has_transaction(*txn):
            return dict.fromkeys(_ROW_COUNTS, 0)
        try:
            return attempt(snapshot)
        except RowConflictError as error:
            raise with_values(error, snapshot) from error
        except ConflictError as error:
            # The application may have been here with this very change, which is then done.
            is_done = txn is not None and isinstance(error, ConcurrentTransactionError)
            may_start_over = is_done or _may_start_over(error, snapshot)
            if not may_start_over or number + 1 == ATTEMPTS:
                raise
    raise AssertionError("the last attempt returns or raises")


def described(condition: str | None) -> list[str]:
    """SQL text as `operationParameters` have it: a list with one string, or an empty one."""
    return [] if condition is None else [f"({condition})"]


def _writable(snapshot: Snapshot) -> Snapshot:
    if snapshot.properties.append_only:
        raise AppendOnlyError(
            f"{snapshot.store.url} is append-only: its rows cannot be changed",
            hint="set delta.appendOnly to false first",
        )
    return snapshot


def _may_start_over(error: ConflictError, snapshot: Snapshot) -> bool:
    """Marks of identity columns are metadata: two writers that draw values take turns."""
    draws = any(identity(field) is not None for field in snapshot.schema.fields)
    return is_retryable(error) or (draws and isinstance(error, MetadataChangedError))


_SHOWN = 5


def with_values(error: RowConflictError, snapshot: Snapshot) -> RowConflictError:
    """The same error, which also shows some of the rows as they were in `snapshot`."""
    adds = list(adds_from_table(snapshot.files(tuple(ADD_FIELDS))))
    known = dict(zip(paths_of(adds), adds, strict=True))
    values: list[dict[str, object]] = []
    for path, positions in error.rows.items():
        if path in known and len(values) < _SHOWN:
            try:
                values += rows_at(snapshot, known[path], positions[: _SHOWN - len(values)])
            except DataFileError:
                # The files may be gone by now; where the rows were is in the message anyway.
                break
    if not values:
        return error
    shown = "; ".join(map(str, values))
    return RowConflictError(
        f"{error.message}; some of these rows, as this operation read them: {shown}",
        version=error.version,
        operation=error.operation,
        files=error.files,
        rows=error.rows,
        values=values,
        hint=error.hint,
    )
