"""DELETE and UPDATE."""

from __future__ import annotations

from dataclasses import dataclass

from lakebed.sql.cursor import Cursor
from lakebed.sql.grammar.column_names import ColumnRef, column
from lakebed.sql.statement import Slice, Statement


@dataclass(frozen=True)
class Assigned:
    """`column = value`. No value stands for DEFAULT."""

    column: ColumnRef
    value: Slice | None


@dataclass(frozen=True, kw_only=True)
class DeleteStatement(Statement):
    """DELETE FROM t [AS a] [WHERE condition]"""

    alias: str | None = None
    where: Slice | None = None
    ctes: Slice | None = None


@dataclass(frozen=True, kw_only=True)
class UpdateStatement(Statement):
    """UPDATE t [AS a] SET column = value, ... [WHERE condition]"""

    alias: str | None = None
    assigned: tuple[Assigned, ...] = ()
    where: Slice | None = None
    ctes: Slice | None = None


def parse_delete(cursor: Cursor, ctes: Slice | None = None) -> DeleteStatement:
    cursor.expect("DELETE", "FROM")
    table = cursor.table()
    name = alias(cursor, "WHERE")
    where = cursor.expression() if cursor.accept("WHERE") else None
    cursor.expect_end()
    return DeleteStatement(table, alias=name, where=where, ctes=ctes)


def parse_update(cursor: Cursor, ctes: Slice | None = None) -> UpdateStatement:
    cursor.expect("UPDATE")
    table = cursor.table()
    name = alias(cursor, "SET")
    cursor.expect("SET")
    assigned = assignments(cursor, "WHERE")
    where = cursor.expression() if cursor.accept("WHERE") else None
    cursor.expect_end()
    return UpdateStatement(table, alias=name, assigned=assigned, where=where, ctes=ctes)


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
