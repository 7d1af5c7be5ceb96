"""Columns as ALTER TABLE defines them: name, type, and what comes behind."""

from __future__ import annotations

from dataclasses import dataclass

from lakebed.expressions.tokens import Kind
from lakebed.sql.cursor import Cursor
from lakebed.sql.grammar.column_names import ColumnRef, column
from lakebed.sql.statement import Slice


@dataclass(frozen=True)
class ColumnDefinition:
    column: ColumnRef
    data_type: Slice
    nullable: bool = True
    comment: str | None = None
    default: Slice | None = None
    first: bool = False
    after: str | None = None


_MORE = ("NOT", "NULL", "COMMENT", "DEFAULT", "FIRST", "AFTER")


def column_definition(cursor: Cursor) -> ColumnDefinition:
    name = column(cursor)
    cursor.accept_symbol(":")
    return defined(cursor, name, data_type(cursor))


def defined(cursor: Cursor, name: ColumnRef, kind: Slice) -> ColumnDefinition:
    """What may stand behind the type, in any order."""
    nullable, comment, default = True, None, None
    first, after = False, None
    while word := cursor.accept_any(*_MORE):
        if word == "NOT":
            cursor.expect("NULL")
            nullable = False
        elif word == "COMMENT":
            comment = cursor.string("a comment")
        elif word == "DEFAULT":
            default = cursor.expression(",", *_MORE)
        elif word == "FIRST":
            first = True
        elif word == "AFTER":
            after = cursor.identifier("the name of a column")
    return ColumnDefinition(name, kind, nullable, comment, default, first, after)


def column_definitions(cursor: Cursor) -> tuple[ColumnDefinition, ...]:
    """In parentheses, or without them."""
    enclosed = cursor.accept_symbol("(")
    found = [column_definition(cursor)]
    while cursor.accept_symbol(","):
        found.append(column_definition(cursor))
    if enclosed:
        cursor.expect_symbol(")")
    return tuple(found)


def data_type(cursor: Cursor) -> Slice:
    """The text of a type, such as struct<a: decimal(10, 2), b: array<int>>."""
    start = end = cursor.position
    if cursor.token.kind is not Kind.WORD:
        raise cursor.error(f"expected a type, found {cursor.token}")
    depth = 0
    while not cursor.is_at_end:
        token = cursor.token
        if depth == 0 and end > start and not token.is_symbol("<", "(", "<>"):
            break
        depth += token.is_symbol("<", "(") - token.is_symbol(">", ")")
        if depth < 0:
            break
        end = token.end
        cursor.next()
    if depth > 0:
        raise cursor.error("this type has no end", hint="a '>' or ')' is missing")
    return Slice(cursor.sql[start:end], start)
