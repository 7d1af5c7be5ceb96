"""SQL text to the statements that Lakebed runs itself, also inside a script: BEGIN ... END."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from lakebed.errors import PredicateError, SqlError
from lakebed.expressions.parser.tokens import Kind, Token, tokenize
from lakebed.sql.cursor import Cursor
from lakebed.sql.grammar.alter import parse_alter
from lakebed.sql.grammar.copy_into import parse_copy
from lakebed.sql.grammar.dml import parse_insert, parse_merge, parse_with
from lakebed.sql.grammar.new_tables import parse_checks, parse_clone
from lakebed.sql.grammar.utility_commands import (
    parse_convert,
    parse_describe,
    parse_fsck,
    parse_generate,
    parse_optimize,
    parse_reorg,
    parse_restore,
    parse_sync_metadata,
    parse_undrop,
    parse_vacuum,
)
from lakebed.sql.statement import Slice, Statement

Grammar = Callable[[Cursor], Statement | None]
"""Reads a statement from its first word on; None if it is none of ours."""

GRAMMARS: Mapping[str, tuple[Grammar, ...]] = {
    "ALTER": (parse_alter,),
    "CONVERT": (parse_convert,),
    "COPY": (parse_copy,),
    "CREATE": (parse_clone, parse_checks),
    "DESC": (parse_describe,),
    "DESCRIBE": (parse_describe,),
    "FSCK": (parse_fsck,),
    "GENERATE": (parse_generate,),
    "INSERT": (parse_insert,),
    "MERGE": (parse_merge,),
    "MSCK": (parse_sync_metadata,),
    "OPTIMIZE": (parse_optimize,),
    "REORG": (parse_reorg,),
    "REPLACE": (parse_clone, parse_checks),
    "RESTORE": (parse_restore,),
    "UNDROP": (parse_undrop,),
    "VACUUM": (parse_vacuum,),
    "WITH": (parse_with,),
}
"""By the first word of the statement. The first grammar that knows it has it."""


def parse_own(sql: str, values: Mapping[int, Any] | None = None) -> Statement | None:
    """A statement that no Spark parses, or not all; None for all others. `values`: see `Cursor`.

    INSERT and MERGE always are found: only those that Spark could not parse are looked for here.
    """
    for grammar in GRAMMARS.get(first_word(sql), ()):
        found = grammar(Cursor(sql, values))
        if found is not None:
            return found
    return None


def first_word(sql: str) -> str:
    """In capitals; comments before it are passed over."""
    found = _FIRST.match(sql)
    return "" if found is None else found[1].upper()


_SPACE = r"(?:\s|--[^\n]*(?:\n|$)|/\*(?:(?!/\*).)*?\*/)*"
_FIRST = re.compile(rf"{_SPACE}(\w+)", re.DOTALL)


_BEFORE_STATEMENTS = ("BEGIN", "THEN", "ELSE", "DO", "LOOP", "REPEAT")


def own_statements(script: str) -> list[Slice]:
    """Where a script has statements that Spark's parser does not know."""
    try:
        tokens = tokenize(script)
    except PredicateError:
        # Spark shows what is wrong with it.
        return []
    found = []
    for index, token in enumerate(tokens[:-1]):
        if (part := _statement_after(script, tokens, index)) is None:
            continue
        try:
            if parse_own(part.text) is not None:
                found.append(part)
        except SqlError:
            if token.is_symbol(";") or token.is_word("BEGIN"):
                raise
            # THEN and ELSE are also parts of expressions, which go on with the name of a column.
    return found


def _statement_after(script: str, tokens: list[Token], index: int) -> Slice | None:
    """Up to the next semicolon, if it begins like one of ours."""
    if not (tokens[index].is_symbol(";") or tokens[index].is_word(*_BEFORE_STATEMENTS)):
        return None
    first = last = index + 1
    if not tokens[first].is_word(*GRAMMARS):
        return None
    while not (tokens[last].is_symbol(";") or tokens[last].kind is Kind.END):
        last += 1
    if tokens[last].kind is Kind.END:
        return None
    begin = tokens[first].position
    return Slice(script[begin : tokens[last - 1].end], begin)
