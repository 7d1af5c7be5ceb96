"""WITH before statements that change tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from lakebed.sql.cursor import Cursor
from lakebed.sql.grammar.insert import parse_insert
from lakebed.sql.grammar.merge import parse_merge
from lakebed.sql.statement import Slice, Statement

_MAYBE = re.compile(r"\)\s*(?:INSERT|MERGE)\b", re.IGNORECASE)


def parse_with(cursor: Cursor) -> Statement | None:
    """None for queries. Whatever is odd about the WITH itself is for Spark to tell."""
    if _MAYBE.search(cursor.sql) is None:
        return None
    start = cursor.position
    if not _pass_ctes(cursor):
        return None
    found = Slice(cursor.sql[start : cursor.position].strip(), start)
    for word, parse in _STATEMENTS.items():
        if cursor.at(word):
            return parse(cursor, found)
    return None


_STATEMENTS: Mapping[str, Callable[[Cursor, Slice | None], Statement | None]] = {
    "INSERT": parse_insert,
    "MERGE": parse_merge,
}


def cte_names(ctes: Slice) -> list[str]:
    """The names that a WITH gives to queries, in small letters."""
    found: list[str] = []
    _pass_ctes(Cursor(ctes.text), found)
    return found


def _pass_ctes(cursor: Cursor, names: list[str] | None = None) -> bool:
    cursor.expect("WITH")
    cursor.accept("RECURSIVE")
    while True:
        if not cursor.at_name:
            return False
        name = cursor.next().text
        if names is not None:
            names.append(name.lower())
        cursor.until("AS")
        if not cursor.accept("AS") or not cursor.at_symbol("("):
            return False
        cursor.enclosed()
        if not cursor.accept_symbol(","):
            return True
