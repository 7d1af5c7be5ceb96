"""How a conflict is told: the commit that came first, what it did, and what to do now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from lakebed.errors import (
    ConcurrentAppendError,
    ConcurrentDeleteDeleteError,
    ConcurrentDeleteReadError,
    ConflictError,
    RowConflictError,
)
from lakebed.formats.deletion_vectors import RowIndexSet
from lakebed.transaction.winner import Winner

_SHOWN = 5
_REPEAT = "read the newest version of the table and repeat the operation"
E = TypeVar("E", bound=ConflictError)


def is_retryable(error: ConflictError) -> bool:
    """Whether a command may plan its work again from the newest version without asking anybody.

    True where files came, went or were rearranged: the command reads the table again and does what
    it was asked to do. False where somebody has to decide: a row that both changed
    (`RowConflictError`), another schema, protocol or metadata domain than the work was planned
    for, another run of the same application, a race that was given up.
    """
    if isinstance(error, RowConflictError):
        return False
    return isinstance(
        error, ConcurrentAppendError | ConcurrentDeleteReadError | ConcurrentDeleteDeleteError
    )


def conflict(
    kind: type[E],
    winner: Winner,
    what: str,
    *,
    files: Sequence[str] = (),
    hint: str = _REPEAT,
) -> E:
    return kind(
        f"{_committed_first(winner)} and {what}",
        version=winner.version,
        operation=winner.operation,
        files=files,
        hint=hint,
    )


def file_conflict(kind: type[E], winner: Winner, what: str, files: Sequence[str]) -> E:
    shown = ", ".join(files[:_SHOWN])
    rest = f" and {len(files) - _SHOWN} more" if len(files) > _SHOWN else ""
    return conflict(kind, winner, f"{what}: {shown}{rest}", files=files)


def row_conflict(winner: Winner, disputed: dict[str, RowIndexSet]) -> RowConflictError:
    """`disputed` are the rows of each file that both commits change."""
    first = {path: rows.to_arrow()[:_SHOWN].to_pylist() for path, rows in disputed.items()}
    count = sum(rows.cardinality for rows in disputed.values())
    listed = [f"{path} ({_indexes(first[path], rows)})" for path, rows in disputed.items()]
    rest = f" and {len(listed) - _SHOWN} more files" if len(listed) > _SHOWN else ""
    return RowConflictError(
        f"{_committed_first(winner)} and deleted or changed {count} of the rows that this commit "
        f"deletes or changes too: {', '.join(listed[:_SHOWN])}{rest}",
        version=winner.version,
        operation=winner.operation,
        files=list(disputed),
        rows=first,
        hint=f"look at what version {winner.version} made of these rows, and repeat the operation "
        "if it is still wanted",
    )


def _indexes(first: list[int], rows: RowIndexSet) -> str:
    more = rows.cardinality - len(first)
    shown = ", ".join(map(str, first))
    word = "row" if rows.cardinality == 1 else "rows"
    return f"{word} {shown} and {more} more" if more else f"{word} {shown}"


def _committed_first(winner: Winner) -> str:
    operation = winner.operation or "an operation that did not give its name"
    return f"version {winner.version} ({operation}) was committed first"
