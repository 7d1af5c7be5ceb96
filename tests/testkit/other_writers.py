"""Writers that commit at a chosen moment of somebody else's command."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import lakebed
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
