"""Assignments of MERGE."""

from __future__ import annotations

from dataclasses import dataclass

from lakebed.sql.cursor import Cursor
from lakebed.sql.grammar.column_names import ColumnRef, column
from lakebed.sql.statement import Slice


@dataclass(frozen=True)
class Assigned:
    """`column = value`. No value stands for DEFAULT."""

    column: ColumnRef
    value: Slice | None


def alias(cursor: Cursor, *stops: str) -> str | None:
    """[AS] name, unless the statement goes on with one of the words."""
    if cursor.accept("AS"):
        return cursor.identifier("an alias")
    if cursor.is_at_end or cursor.at_any(*stops) or not cursor.at_name:
        return None
    return cursor.identifier("an alias")


def assignments(cursor: Cursor, *stops: str | tuple[str, ...]) -> tuple[Assigned, ...]:
    found = []
    while True:
        name = column(cursor)
        if not cursor.accept_symbol("=") and not cursor.accept_symbol("=="):
            raise cursor.error(f"expected '=' after {name}, found {cursor.token}")
        value = cursor.expression(",", *stops)
        found.append(Assigned(name, None if value.text.upper() == "DEFAULT" else value))
        if not cursor.accept_symbol(","):
            return tuple(found)
