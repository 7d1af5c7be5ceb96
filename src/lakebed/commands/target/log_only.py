"""Commits that touch no row: what they take care of, and how they are repeated."""

from __future__ import annotations

from collections.abc import Callable

from lakebed.errors import ConflictError
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.spec.feature_table import FEATURES
from lakebed.transaction import Committed, Transaction

_ATTEMPTS = 10
# Tables that another service commits to, or that have moved, are not ours to change at all.
_ELSEWHERE = ("coordinatedCommits-preview", "redirectReaderWriter-preview")

HANDLED_FEATURES = frozenset(FEATURES) - {*_ELSEWHERE, "redirectWriterOnly-preview"}
"""Features that ask something of new rows ask nothing of a commit without any."""


def commit_log_only(
    log: TableLog, make: Callable[[Snapshot], Transaction | None]
) -> Committed | None:
    """Commit what `make` says about the newest version; again, if another commit changed it.

    `make` returns None if there is nothing to do.
    """
    for attempt in range(_ATTEMPTS):
        transaction = make(log.snapshot())
        if transaction is None:
            return None
        try:
            return transaction.commit().unwrap()
        except ConflictError:
            if attempt + 1 == _ATTEMPTS:
                raise
    raise AssertionError("the last attempt returns or raises")
