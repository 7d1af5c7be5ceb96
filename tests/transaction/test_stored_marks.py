"""Marks whose vectors are there before the commit: used as they are unless somebody came first."""

from __future__ import annotations

import pytest

from lakebed.errors import ConflictError, InvalidCommitError, RowConflictError
from lakebed.formats.deletion_vectors import RowIndexSet, write_vectors
from lakebed.log.deleted_rows import StoredRows, deleted_rows
from lakebed.log.snapshot import Snapshot
from lakebed.spec.vector_descriptors import file_name, new_file, stored_vector
from lakebed.storage import Store
from lakebed.transaction import Transaction
from testkit.tables.marked_tables import (
    DELETE,
    actions_of,
    delete,
    gone,
    live,
    marked_table,
    rows,
    vector_files,
)
from testkit.tables.small_tables import append, file


def stored(snapshot: Snapshot, path: str, *indexes: int) -> StoredRows:
    """A vector with these rows beside the deleted ones, as executors would write it."""
    store, add = snapshot.store, live(snapshot, path)
    old = deleted_rows(store, add.deletion_vector, file=path)
    content, [place] = write_vectors([old.union(rows(*indexes))])
    prefix, uuid = new_file()
    store.put(file_name(prefix, uuid), content)
    vector = stored_vector(prefix, uuid, place.offset, place.size_in_bytes, place.cardinality)
    return StoredRows(store, vector, add.deletion_vector, file=path)


def marking(snapshot: Snapshot, path: str, marked: RowIndexSet) -> Transaction:
    transaction = Transaction(snapshot, operation=DELETE)
    transaction.mark_rows(live(snapshot, path), marked)
    return transaction


def test_the_vector_is_used_and_never_read(store: Store) -> None:
    snapshot = delete(marked_table(store), {"one": [1]})
    marked = stored(snapshot, "one", 3, 4)
    before = vector_files(store)
    marking(snapshot, "one", marked).commit().unwrap()
    assert "_bitmap" not in vars(marked)
    assert marked.cardinality == 2
    assert vector_files(store) == before
    assert actions_of(store, 2)[1]["add"]["deletionVector"] == marked.vector.to_json()
    assert gone(store)["one"] == {1, 3, 4}


def test_rows_of_another_commit_are_merged(store: Store) -> None:
    snapshot = marked_table(store)
    transaction = marking(snapshot, "one", stored(snapshot, "one", 3, 4))
    delete(snapshot, {"one": [7]})
    transaction.commit().unwrap()
    assert gone(store)["one"] == {3, 4, 7}


def test_the_same_row_is_a_conflict(store: Store) -> None:
    snapshot = marked_table(store)
    transaction = marking(snapshot, "one", stored(snapshot, "one", 3, 4))
    delete(snapshot, {"one": [4]})
    with pytest.raises(RowConflictError) as caught:
        transaction.commit().unwrap()
    assert caught.value.rows == {"one": [4]}
    assert gone(store)["one"] == {4}


def test_an_append_changes_nothing_about_it(store: Store) -> None:
    snapshot = marked_table(store)
    marked = stored(snapshot, "one", 0)
    transaction = marking(snapshot, "one", marked)
    append(snapshot, file("three"))
    transaction.commit().unwrap()
    assert "_bitmap" not in vars(marked)
    assert gone(store)["one"] == {0}


def test_a_file_without_rows_is_removed(store: Store) -> None:
    snapshot = delete(marked_table(store), {"one": range(5)})
    marking(snapshot, "one", stored(snapshot, "one", *range(5, 10))).commit().unwrap()
    assert set(gone(store)) == {"two"}


def test_more_rows_than_the_file_has_are_refused(store: Store) -> None:
    snapshot = marked_table(store)
    transaction = marking(snapshot, "one", stored(snapshot, "one", *range(11)))
    with pytest.raises((InvalidCommitError, ConflictError), match="11 rows of one are marked"):
        transaction.commit().unwrap()
    assert gone(store)["one"] == set()
