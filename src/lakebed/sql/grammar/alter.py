"""ALTER TABLE: constraints, which Spark 4.0 does not parse, features, and SYNC IDENTITY."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lakebed.sql.cursor import Cursor
from lakebed.sql.grammar.column_refs import ColumnRef, column
from lakebed.sql.statement import Slice, Statement


@dataclass(frozen=True)
class SyncIdentity:
    column: ColumnRef


@dataclass(frozen=True)
class AddConstraint:
    name: str
    condition: Slice


@dataclass(frozen=True)
class DropConstraint:
    name: str
    if_exists: bool = False


@dataclass(frozen=True)
class DropFeature:
    name: str
    truncate_history: bool = False


Action = SyncIdentity | AddConstraint | DropConstraint | DropFeature
"""What ALTER TABLE does to the table."""


@dataclass(frozen=True, kw_only=True)
class AlterTable(Statement):
    action: Action


def parse_alter(cursor: Cursor) -> AlterTable | None:
    """None for all that Spark parses."""
    cursor.expect("ALTER")
    if not cursor.accept("TABLE"):
        return None
    table = cursor.table()
    for words, parse in _ACTIONS.items():
        if cursor.accept(*words):
            action = parse(cursor)
            if action is None:
                return None
            cursor.expect_end()
            return AlterTable(table, action=action)
    return None


def _sync_identity(cursor: Cursor) -> Action | None:
    name = column(cursor)
    return SyncIdentity(name) if cursor.accept("SYNC", "IDENTITY") else None


def _add_constraint(cursor: Cursor) -> Action:
    name = cursor.identifier("the name of the constraint")
    if not cursor.accept("CHECK"):
        raise cursor.error(
            f"expected CHECK, found {cursor.token}", hint="constraints are CHECK (condition)"
        )
    condition = cursor.enclosed()
    cursor.accept("ENFORCED")
    return AddConstraint(name, condition)


def _drop_constraint(cursor: Cursor) -> Action:
    if_exists = cursor.accept("IF", "EXISTS")
    return DropConstraint(cursor.identifier("the name of the constraint"), if_exists)


def _drop_feature(cursor: Cursor) -> Action:
    name = cursor.string() if not cursor.at_name else cursor.identifier("the name of a feature")
    return DropFeature(name, cursor.accept("TRUNCATE", "HISTORY"))


_ACTIONS: Mapping[tuple[str, ...], Callable[[Cursor], Action | None]] = {
    ("ALTER", "COLUMN"): _sync_identity,
    ("ALTER",): _sync_identity,
    ("CHANGE", "COLUMN"): _sync_identity,
    ("CHANGE",): _sync_identity,
    ("ADD", "CONSTRAINT"): _add_constraint,
    ("DROP", "CONSTRAINT"): _drop_constraint,
    ("DROP", "FEATURE"): _drop_feature,
}
