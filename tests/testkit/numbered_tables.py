"""Tables with a past, and what other readers find in them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

import lakebed
from lakebed.formats.deletion_vectors import RowIndexSet
from lakebed.formats.file_actions import adds_from_table
from lakebed.storage import Store, open_store
from lakebed.transaction import Operation, Outcome, Transaction
from testkit.arbitrary_tables import read_elsewhere
from testkit.faults import Fault, FaultStore, Mode
from testkit.other_readers import rows_by_duckdb

_MODES: tuple[Mode, ...] = ("before", "after")
VECTORS = {"delta.enableDeletionVectors": "true"}


class Meanwhile(Transaction):
    """A transaction that lets somebody else commit first, once."""

    other: Callable[[], Any] | None = None

    def commit(self) -> Outcome:
        other, Meanwhile.other = Meanwhile.other, None
        if other is not None:
            other()
        return super().commit()


class Killed(BaseException):
    """The process is gone: nothing catches this."""


def numbers(first: int, last: int, day: str = "mon") -> pa.Table:
    ids = list(range(first, last))
    return pa.table({"id": ids, "day": pa.array([day] * len(ids), pa.string())})


def make(path: Path, **options: Any) -> lakebed.Table:
    """Version 0 has the ids 0 to 9, version 1 also 10 to 19."""
    lakebed.write(path, numbers(0, 10), **options)
    return lakebed.write(path, numbers(10, 20, "tue"))


def delete(path: Path, indexes: Iterable[int], *, file: int = 0) -> lakebed.Table:
    """Mark rows of one file as deleted, in a vector of its own file."""
    snapshot = lakebed.open(path).snapshot
    adds = sorted(adds_from_table(snapshot.files()), key=lambda add: add.stats or "")
    transaction = Transaction(snapshot, operation=Operation("DELETE"))
    transaction.mark_rows(adds[file], RowIndexSet.from_indexes(indexes))
    transaction.commit().unwrap()
    return lakebed.open(path)


def ids(path: Path) -> list[int]:
    """By deltalake."""
    return sorted(read_elsewhere(path).column("id").to_pylist())


def ids_by_duckdb(path: Path) -> list[int]:
    return sorted(row[1] for row in rows_by_duckdb(path))  # type: ignore[misc]


def ids_here(table: lakebed.Table | Path) -> list[int]:
    opened = lakebed.open(table) if isinstance(table, Path) else table
    return sorted(opened.to_arrow(["id"]).column("id").to_pylist())


def actions(path: Path, version: int | None = None) -> list[dict[str, Any]]:
    number = lakebed.open(path).version if version is None else version
    text = (path / "_delta_log" / f"{number:020}.json").read_text()
    return [json.loads(line) for line in text.splitlines()]


def last(path: Path, kind: str) -> list[dict[str, Any]]:
    """The actions of a kind in the newest commit."""
    return [action[kind] for action in actions(path) if kind in action]


def killed_at_every_call(
    run: Callable[[Store], Any], store_of: Callable[[], Store], check: Callable[[], None]
) -> int:
    """Runs once to count the calls, then is killed before and after each; `check` looks each time.

    `store_of` makes the starting point anew. Gives the number of calls.
    """
    whole = FaultStore(store_of())
    run(whole)
    for number in range(1, len(whole.calls) + 1):
        for mode in _MODES:
            store = FaultStore(store_of(), Fault(None, number, mode, Killed()))
            with contextlib.suppress(Killed):
                run(store)
            assert store.raised
            check()
    return len(whole.calls)


def opened(path: Path) -> Store:
    return open_store(str(path))
