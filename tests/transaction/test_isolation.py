"""Which isolation level a commit needs, by what it does."""

from __future__ import annotations

import pytest

from lakebed.spec.actions import Action, AddCdc, DomainMetadata, Txn
from lakebed.transaction.isolation import IsolationLevel, choose_level
from testkit.tables.small_tables import file, metadata, removal

SERIALIZABLE, WRITE_SERIALIZABLE, SNAPSHOT = IsolationLevel

MOVED = (file("a", data_change=False), removal(file("b"), data_change=False))
CASES: list[tuple[str, tuple[Action, ...], bool, IsolationLevel, IsolationLevel]] = [
    # what, actions, operation changes data, expected on Serializable, on WriteSerializable
    ("nothing", (), False, SNAPSHOT, SNAPSHOT),
    ("nothing, by a DELETE", (), True, SNAPSHOT, WRITE_SERIALIZABLE),
    ("files moved", MOVED, False, SNAPSHOT, SNAPSHOT),
    ("files moved, by an UPDATE", MOVED, True, SNAPSHOT, WRITE_SERIALIZABLE),
    ("file added", (file("a"),), True, SERIALIZABLE, WRITE_SERIALIZABLE),
    ("file removed", (removal(file("a")),), True, SERIALIZABLE, WRITE_SERIALIZABLE),
    ("change file", (AddCdc("c", {}, 1),), False, SNAPSHOT, SNAPSHOT),
    ("metadata", (*MOVED, metadata()), False, SERIALIZABLE, WRITE_SERIALIZABLE),
    ("transaction", (*MOVED, Txn("app", 1)), False, SERIALIZABLE, WRITE_SERIALIZABLE),
    ("domain", (DomainMetadata("d", ""),), False, SERIALIZABLE, WRITE_SERIALIZABLE),
    ("row ids", (*MOVED, DomainMetadata("delta.rowTracking", "{}")), False, SNAPSHOT, SNAPSHOT),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_the_level_falls_to_snapshot_isolation_only_where_no_data_can_change(case) -> None:
    _, actions, changes_data, serializable, write_serializable = case
    assert choose_level(SERIALIZABLE, actions, changes_data=changes_data) is serializable
    chosen = choose_level(WRITE_SERIALIZABLE, actions, changes_data=changes_data)
    assert chosen is write_serializable
