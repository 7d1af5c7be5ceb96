"""Lakebed's own statements inside a script of SQL: BEGIN ... END."""

from __future__ import annotations

from lakebed.errors import PredicateError, SqlError
from lakebed.expressions.parser.tokens import Kind, Token, tokenize
from lakebed.sql.parse import GRAMMARS, parse_own
from lakebed.sql.statement import Slice

_BEFORE_STATEMENTS = ("BEGIN", "THEN", "ELSE", "DO", "LOOP", "REPEAT")


def own_statements(script: str) -> list[Slice]:
    """Where a script has statements that Spark's parser does not know."""
    try:
        tokens = tokenize(script)
    except PredicateError:
        # Spark shows what is wrong with it.
        return []
    found = []
    for place, token in enumerate(tokens[:-1]):
        if (part := _statement_after(script, tokens, place)) is None:
            continue
        try:
            if parse_own(part.text) is not None:
                found.append(part)
        except SqlError:
            if token.is_symbol(";") or token.is_word("BEGIN"):
                raise
            # THEN and ELSE are also parts of expressions, which go on with the name of a column.
    return found


def _statement_after(script: str, tokens: list[Token], place: int) -> Slice | None:
    """Up to the next semicolon, if it begins like one of ours."""
    if not (tokens[place].is_symbol(";") or tokens[place].is_word(*_BEFORE_STATEMENTS)):
        return None
    first = last = place + 1
    if not tokens[first].is_word(*GRAMMARS):
        return None
    while not (tokens[last].is_symbol(";") or tokens[last].kind is Kind.END):
        last += 1
    if tokens[last].kind is Kind.END:
        return None
    begin = tokens[first].position
    return Slice(script[begin : tokens[last - 1].end], begin)
