"""DESCRIBE HISTORY and DESCRIBE DETAIL."""

from __future__ import annotations

from dataclasses import dataclass

from lakebed.expressions.parser.tokens import Kind
from lakebed.sql.cursor import Cursor
from lakebed.sql.statement import Statement


@dataclass(frozen=True, kw_only=True)
class DescribeHistory(Statement):
    limit: int | None = None


@dataclass(frozen=True, kw_only=True)
class DescribeDetail(Statement):
    pass


def parse_describe(cursor: Cursor) -> Statement | None:
    """None for all that Spark parses."""
    if not cursor.accept("DESC"):
        cursor.expect("DESCRIBE")
    if not _goes_on(cursor):
        return None
    if cursor.accept("HISTORY"):
        return _history(cursor)
    if not cursor.accept("DETAIL"):
        return None
    table = cursor.table_or_path()
    cursor.expect_end()
    return DescribeDetail(table, True)


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
