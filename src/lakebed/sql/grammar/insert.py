"""INSERT, in all its forms."""

from __future__ import annotations

from dataclasses import dataclass

from lakebed.sql.cursor import Cursor
from lakebed.sql.grammar.column_names import ColumnRef, column, columns
from lakebed.sql.statement import Slice, Statement

QUERY = ("SELECT", "VALUES", "WITH", "TABLE", "FROM", "MAP", "REDUCE")


@dataclass(frozen=True)
class PartitionPart:
    """`column = value`, or only the column: its values come with the rows."""

    column: ColumnRef
    value: Slice | None


@dataclass(frozen=True, kw_only=True)
class InsertStatement(Statement):
    """`replace_using` are columns: rows with the same values in them are replaced."""

    query: Slice
    overwrites: bool = False
    partition: tuple[PartitionPart, ...] = ()
    if_not_exists: bool = False
    columns: tuple[ColumnRef, ...] | None = None
    by_name: bool = False
    replace_where: Slice | None = None
    replace_using: tuple[ColumnRef, ...] = ()
    ctes: Slice | None = None


def parse_insert(cursor: Cursor, ctes: Slice | None = None) -> InsertStatement | None:
    cursor.expect("INSERT")
    overwrites = cursor.accept("OVERWRITE")
    if not overwrites:
        cursor.expect("INTO")
    if cursor.accept("LOCAL", "DIRECTORY") or (
        cursor.at("DIRECTORY") and not cursor.peek().is_symbol(".")
    ):
        return None
    cursor.accept("TABLE")
    table = cursor.table()
    parts = partition(cursor)
    if_not_exists = bool(parts) and cursor.accept("IF", "NOT", "EXISTS")
    by_name = cursor.accept("BY", "NAME")
    names = None if by_name or not _at_columns(cursor) else columns(cursor)
    where, using = (None, ()) if overwrites else _replaced(cursor)
    by_name = by_name or (names is None and cursor.accept("BY", "NAME"))
    if not (cursor.at_any(*QUERY) or cursor.at_symbol("(")):
        raise cursor.error(f"expected the rows to insert, found {cursor.token}", hint=_HINT)
    return InsertStatement(
        table,
        query=cursor.rest(),
        overwrites=overwrites,
        partition=parts,
        if_not_exists=if_not_exists,
        columns=names,
        by_name=by_name,
        replace_where=where,
        replace_using=using,
        ctes=ctes,
    )


_HINT = "rows are VALUES (...), a SELECT, or TABLE and a name"


def _at_columns(cursor: Cursor) -> bool:
    if not cursor.at_symbol("("):
        return False
    inside = cursor.peek()
    return not (inside.is_word(*QUERY) or inside.is_symbol("(", ")"))


def partition(cursor: Cursor) -> tuple[PartitionPart, ...]:
    if not cursor.accept("PARTITION"):
        return ()
    cursor.expect_symbol("(")
    found = [_part(cursor)]
    while cursor.accept_symbol(","):
        found.append(_part(cursor))
    cursor.expect_symbol(")")
    return tuple(found)


def _part(cursor: Cursor) -> PartitionPart:
    name = column(cursor)
    value = cursor.expression(",") if cursor.accept_symbol("=") else None
    return PartitionPart(name, value)


def _replaced(cursor: Cursor) -> tuple[Slice | None, tuple[ColumnRef, ...]]:
    if not cursor.accept("REPLACE"):
        return None, ()
    if cursor.accept("USING"):
        return None, columns(cursor)
    if not cursor.accept("WHERE"):
        raise cursor.error(f"expected WHERE or USING, found {cursor.token}")
    return cursor.expression(*QUERY), ()
