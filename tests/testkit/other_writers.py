"""Writers that commit at a chosen moment of somebody else's command."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lakebed
from lakebed.commands.target.metadata_change import AlterTarget
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.storage import Store, open_store
from lakebed.transaction import Outcome, Transaction
from lakebed.transaction import transaction as transactions


@contextmanager
def before_commit(action: Callable[[], Any]) -> Iterator[None]:
    """Another writer commits after the next command has done its work, and before its commit."""
    commit = transactions.commit

    def raced(*given: Any) -> Any:
        transactions.commit = commit
        action()
        return commit(*given)

    transactions.commit = raced
    try:
        yield
    finally:
        transactions.commit = commit


def is_blind(path: str) -> Any:
    return lakebed.open(path).history(1).column("isBlindAppend")[0].as_py()


def target(path: Path, store: Store | None = None) -> AlterTarget:
    return AlterTarget(TableLog(open_store(str(path)) if store is None else store))


class Interrupted(TableLog):
    """Lets somebody else commit right after a command has read the newest version, once."""

    def __init__(self, store: Store, meanwhile: Callable[[], Any]) -> None:
        super().__init__(store)
        self._meanwhile: Callable[[], Any] | None = meanwhile

    def snapshot(self, *args: Any, **kwargs: Any) -> Snapshot:
        try:
            return super().snapshot(*args, **kwargs)
        finally:
            if self._meanwhile is not None:
                meanwhile, self._meanwhile = self._meanwhile, None
                meanwhile()


def interrupted(path: Path, meanwhile: Callable[[], Any]) -> AlterTarget:
    return AlterTarget(Interrupted(open_store(str(path)), meanwhile))


class Meanwhile(Transaction):
    """A transaction that lets somebody else commit first, once."""

    other: Callable[[], Any] | None = None

    def commit(self) -> Outcome:
        other, Meanwhile.other = Meanwhile.other, None
        if other is not None:
            other()
        return super().commit()
