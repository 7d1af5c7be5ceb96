"""ALTER TABLE: constraints, which Spark 4.0 does not parse, features, and SYNC IDENTITY."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lakebed.sql.cursor import Cursor
from lakebed.sql.grammar.column_refs import ColumnRef, column
from lakebed.sql.statement import Slice, Statement, TableRef


@dataclass(frozen=True, kw_only=True)
class SyncIdentity(Statement):
    column: ColumnRef


@dataclass(frozen=True, kw_only=True)
class AddConstraint(Statement):
    name: str
    condition: Slice


@dataclass(frozen=True, kw_only=True)
class DropConstraint(Statement):
    name: str
    if_exists: bool = False


@dataclass(frozen=True, kw_only=True)
class DropFeature(Statement):
    name: str
    truncate_history: bool = False


def parse_alter(cursor: Cursor) -> Statement | None:
    """None for all that Spark parses."""
    cursor.expect("ALTER")
    if not cursor.accept("TABLE"):
        return None
    table = cursor.table()
    for words, parse in _ACTIONS.items():
        if cursor.accept(*words):
            found = parse(cursor, table)
            if found is not None:
                cursor.expect_end()
            return found
    return None


def _sync_identity(cursor: Cursor, table: TableRef) -> Statement | None:
    name = column(cursor)
    return SyncIdentity(table, column=name) if cursor.accept("SYNC", "IDENTITY") else None


def _add_constraint(cursor: Cursor, table: TableRef) -> Statement:
    name = cursor.identifier("the name of the constraint")
    if not cursor.accept("CHECK"):
        raise cursor.error(
            f"expected CHECK, found {cursor.token}", hint="constraints are CHECK (condition)"
        )
    condition = cursor.enclosed()
    cursor.accept("ENFORCED")
    return AddConstraint(table, name=name, condition=condition)


def _drop_constraint(cursor: Cursor, table: TableRef) -> Statement:
    if_exists = cursor.accept("IF", "EXISTS")
    name = cursor.identifier("the name of the constraint")
    return DropConstraint(table, name=name, if_exists=if_exists)


def _drop_feature(cursor: Cursor, table: TableRef) -> Statement:
    name = cursor.string() if not cursor.at_name else cursor.identifier("the name of a feature")
    return DropFeature(table, name=name, truncate_history=cursor.accept("TRUNCATE", "HISTORY"))


_ACTIONS: Mapping[tuple[str, ...], Callable[[Cursor, TableRef], Statement | None]] = {
    ("ALTER", "COLUMN"): _sync_identity,
    ("ALTER",): _sync_identity,
    ("CHANGE", "COLUMN"): _sync_identity,
    ("CHANGE",): _sync_identity,
    ("ADD", "CONSTRAINT"): _add_constraint,
    ("DROP", "CONSTRAINT"): _drop_constraint,
    ("DROP", "FEATURE"): _drop_feature,
}
