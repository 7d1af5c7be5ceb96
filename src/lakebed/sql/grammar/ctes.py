"""WITH before INSERT and MERGE."""

from __future__ import annotations

import re

from lakebed.sql.cursor import Cursor
from lakebed.sql.grammar.insert import parse_insert
from lakebed.sql.grammar.merge import parse_merge
from lakebed.sql.statement import Statement

_MAYBE = re.compile(r"\)\s*(?:INSERT|MERGE)\b", re.IGNORECASE)


def parse_with(cursor: Cursor) -> Statement | None:
    """None for queries. Whatever is odd about the WITH itself is for Spark to tell."""
    if _MAYBE.search(cursor.sql) is None or not _pass_ctes(cursor):
        return None
    if cursor.at("INSERT"):
        return parse_insert(cursor)
    return parse_merge(cursor) if cursor.at("MERGE") else None


def _pass_ctes(cursor: Cursor) -> bool:
    cursor.expect("WITH")
    cursor.accept("RECURSIVE")
    while True:
        if not cursor.at_name:
            return False
        cursor.next()
        cursor.until("AS")
        if not cursor.accept("AS") or not cursor.at_symbol("("):
            return False
        cursor.enclosed()
        if not cursor.accept_symbol(","):
            return True
