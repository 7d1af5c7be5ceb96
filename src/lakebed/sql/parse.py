"""SQL text to statements that Lakebed runs itself."""

from __future__ import annotations

import re
from collections.abc import Callable

from lakebed.sql.cursor import Cursor
from lakebed.sql.statement import Statement

Grammar = Callable[[Cursor], Statement | None]
"""Reads a statement from its first word on; None if it is none of ours."""

GRAMMARS: dict[str, Grammar] = {}
"""By the first word of the statement."""


def parse_statement(sql: str) -> Statement | None:
    """None for queries, and for all that is left to Spark."""
    grammar = GRAMMARS.get(first_word(sql))
    return None if grammar is None else grammar(Cursor(sql))


def first_word(sql: str) -> str:
    """In capitals; comments before it are passed over."""
    found = _FIRST.match(sql)
    return "" if found is None else found[1].upper()


_FIRST = re.compile(r"(?:\s|--[^\n]*(?:\n|$)|/\*(?:(?!/\*).)*?\*/)*(\w+)", re.DOTALL)
