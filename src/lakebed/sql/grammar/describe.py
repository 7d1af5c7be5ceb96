"""DESCRIBE, SHOW and COMMENT ON, as far as they are about a Delta table."""

from __future__ import annotations

from dataclasses import dataclass

from lakebed.expressions.tokens import Kind
from lakebed.sql.cursor import Cursor
from lakebed.sql.grammar.column_names import ColumnRef, column
from lakebed.sql.grammar.insert import PartitionPart, partition
from lakebed.sql.grammar.properties import property_key
from lakebed.sql.statement import Statement, TableRef

_OTHER = ("FUNCTION", "DATABASE", "SCHEMA", "NAMESPACE", "CATALOG", "QUERY", "PROCEDURE")
_QUERIES = ("SELECT", "WITH", "VALUES", "FROM", "MAP", "REDUCE")


@dataclass(frozen=True, kw_only=True)
class DescribeHistory(Statement):
    limit: int | None = None


@dataclass(frozen=True, kw_only=True)
class DescribeDetail(Statement):
    pass


@dataclass(frozen=True, kw_only=True)
class DescribeTable(Statement):
    extended: bool = False
    column: ColumnRef | None = None


@dataclass(frozen=True, kw_only=True)
class ShowColumns(Statement):
    pass


@dataclass(frozen=True, kw_only=True)
class ShowProperties(Statement):
    key: str | None = None


@dataclass(frozen=True, kw_only=True)
class ShowPartitions(Statement):
    parts: tuple[PartitionPart, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ShowTablesExtended(Statement):
    """`table` is the database; without parts it is the current one."""


@dataclass(frozen=True, kw_only=True)
class CommentOn(Statement):
    """Of the table, or of a column. No comment: it is taken away."""

    comment: str | None = None
    column: ColumnRef | None = None


def parse_describe(cursor: Cursor) -> Statement | None:
    if not cursor.accept("DESC"):
        cursor.expect("DESCRIBE")
    if _goes_on(cursor) and cursor.accept("HISTORY"):
        return _history(cursor)
    if _goes_on(cursor) and cursor.accept("DETAIL"):
        table = cursor.table_or_path()
        cursor.expect_end()
        return DescribeDetail(table, True)
    if cursor.at_symbol("(") or (cursor.at_any(*_OTHER, *_QUERIES) and _goes_on(cursor)):
        return None
    if _goes_on(cursor):
        cursor.accept("TABLE")
    extended = _goes_on(cursor) and cursor.accept_any("EXTENDED", "FORMATTED") is not None
    if not cursor.at_name:
        return None
    table = cursor.table()
    if cursor.at_any("PARTITION") or cursor.at("AS", "JSON"):
        return None
    name = None if cursor.is_at_end else column(cursor)
    return DescribeTable(table, extended=extended, column=name) if cursor.is_at_end else None


def _goes_on(cursor: Cursor) -> bool:
    """Whether the word here is not itself the name of a table."""
    following = cursor.peek()
    is_last = following.kind is Kind.END or following.is_symbol(";", ".")
    return not is_last


def _history(cursor: Cursor) -> Statement:
    table = cursor.table_or_path()
    limit = cursor.integer("a number of commits") if cursor.accept("LIMIT") else None
    cursor.expect_end()
    return DescribeHistory(table, True, limit=limit)


def parse_show(cursor: Cursor) -> Statement | None:
    cursor.expect("SHOW")
    if cursor.accept("TBLPROPERTIES"):
        return _show_properties(cursor)
    if cursor.accept("PARTITIONS"):
        table = cursor.table()
        parts = partition(cursor)
        return ShowPartitions(table, parts=parts) if cursor.is_at_end else None
    if cursor.accept("COLUMNS") and cursor.accept_any("IN", "FROM"):
        return _show_columns(cursor)
    if cursor.accept("TABLE", "EXTENDED"):
        return _show_extended(cursor)
    return None


def _show_extended(cursor: Cursor) -> Statement | None:
    """None if one partition is asked for: Delta tables have none that the catalog would know."""
    position = cursor.position
    database: tuple[str, ...] = ()
    if cursor.accept_any("IN", "FROM"):
        database = cursor.parts("the name of a database")
    cursor.accept("LIKE")
    cursor.string("a pattern of names")
    return ShowTablesExtended(TableRef(database, position)) if cursor.is_at_end else None


def _show_columns(cursor: Cursor) -> Statement | None:
    table = cursor.table()
    if cursor.accept_any("IN", "FROM"):
        position = cursor.position
        table = TableRef((*cursor.parts("the name of a database"), table.parts[-1]), position)
    return ShowColumns(table) if cursor.is_at_end else None


def _show_properties(cursor: Cursor) -> Statement | None:
    table = cursor.table()
    key = None
    if cursor.accept_symbol("("):
        key = property_key(cursor)
        cursor.expect_symbol(")")
    return ShowProperties(table, key=key) if cursor.is_at_end else None


def parse_comment(cursor: Cursor) -> Statement | None:
    cursor.expect("COMMENT", "ON")
    if cursor.accept("TABLE"):
        table, name = cursor.table(), None
    elif cursor.accept("COLUMN"):
        whole = cursor.table()
        if len(whole.parts) < 2:
            raise cursor.error("expected table.column", hint="COMMENT ON COLUMN orders.price IS ''")
        table = TableRef(whole.parts[:-1], whole.position)
        name = ColumnRef(whole.parts[-1:], whole.position)
    else:
        return None
    cursor.expect("IS")
    comment = None if cursor.accept("NULL") else cursor.string("a comment")
    cursor.expect_end()
    return CommentOn(table, comment=comment, column=name)
