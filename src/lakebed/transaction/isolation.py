"""Isolation levels, and which one a commit needs (as delta-spark chooses it).

| level               | a commit that came first is in the way if it ...                   |
|---------------------|--------------------------------------------------------------------|
| `SERIALIZABLE`      | added a file that the reads cover, or removed a file that was read |
| `WRITE_SERIALIZABLE`| the same, but blind appends may be ordered after this transaction  |
| `SNAPSHOT`          | removed a file that was read; for commits that change no data      |
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from lakebed.spec.actions import Action, Add, AddCdc, DomainMetadata, Remove
from lakebed.transaction.row_tracking import DOMAIN


class IsolationLevel(Enum):
    """The values are as `commitInfo` has them."""

    SERIALIZABLE = "Serializable"
    WRITE_SERIALIZABLE = "WriteSerializable"
    SNAPSHOT = "SnapshotIsolation"


def choose_level(
    table: IsolationLevel, actions: Iterable[Action], *, changes_data: bool
) -> IsolationLevel:
    """The table's level, or snapshot isolation where no data changes.

    An operation that means to change data and happened to change none still depends on what it
    read: under WriteSerializable its place among the writes matters, so it keeps the level.
    """
    if any(map(_needs_level, actions)):
        return table
    if table is IsolationLevel.WRITE_SERIALIZABLE and changes_data:
        return table
    return IsolationLevel.SNAPSHOT


def _needs_level(action: Action) -> bool:
    if isinstance(action, Add | Remove | AddCdc):
        return action.data_change
    return not (isinstance(action, DomainMetadata) and action.domain == DOMAIN)
