"""Tables of numbered rows with a short history, and which numbers readers find in them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

import lakebed
from lakebed.formats.deletion_vectors import RowIndexSet
from lakebed.formats.file_actions import adds_from_table
from lakebed.storage import Store, open_store
from lakebed.transaction import Operation, Transaction
from testkit.readers.other_readers import read_elsewhere, rows_by_duckdb

VECTORS = {"delta.enableDeletionVectors": "true"}


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


def opened(path: Path) -> Store:
    return open_store(str(path))
