"""Names of columns in statements."""

from __future__ import annotations

from dataclasses import dataclass

from lakebed.spec.schema import render_path
from lakebed.sql.cursor import Cursor


@dataclass(frozen=True)
class ColumnRef:
    """A column, or a field in it, and where the statement names it."""

    parts: tuple[str, ...]
    position: int

    def __str__(self) -> str:
        return render_path(self.parts)


def column(cursor: Cursor) -> ColumnRef:
    position = cursor.position
    return ColumnRef(cursor.parts("the name of a column"), position)


def columns(cursor: Cursor) -> tuple[ColumnRef, ...]:
    """Names in parentheses."""
    cursor.expect_symbol("(")
    found = [column(cursor)]
    while cursor.accept_symbol(","):
        found.append(column(cursor))
    cursor.expect_symbol(")")
    return tuple(found)
