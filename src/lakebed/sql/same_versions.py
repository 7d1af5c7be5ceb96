"""Several queries of one statement that see the same version of each table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from pyspark.sql import DataFrame

_opened: ContextVar[dict[str, DataFrame] | None] = ContextVar("_opened", default=None)


@contextmanager
def same_versions() -> Iterator[None]:
    """What is opened in the block is opened once."""
    token = _opened.set({})
    try:
        yield
    finally:
        _opened.reset(token)


def once(key: str, make: Callable[[], DataFrame]) -> DataFrame:
    known = _opened.get()
    if known is None:
        return make()
    if key not in known:
        known[key] = make()
    return known[key]
