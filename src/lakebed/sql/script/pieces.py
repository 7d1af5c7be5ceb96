"""Parts of a script that stay text: where they end."""

from __future__ import annotations

from lakebed.errors import PredicateError, SqlError
from lakebed.expressions.tokens import Kind, tokenize
from lakebed.sql.cursor import Cursor
from lakebed.sql.statement import Slice

_DEPTH = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}


def statement(cursor: Cursor) -> Slice:
    """All up to the semicolon, which is not passed."""
    start = last = cursor.position
    while cursor.token.kind is not Kind.END and not cursor.at_symbol(";"):
        last = cursor.next().end
    if last == start:
        raise cursor.error(f"expected a statement, found {cursor.token}")
    if not cursor.at_symbol(";"):
        raise cursor.error("expected ';' behind a statement, found the end")
    return Slice(cursor.sql[start:last], start)


def expression(cursor: Cursor, stop: str) -> Slice:
    """All up to the word, outside of parentheses and of CASE ... END. There must be something."""
    start = last = cursor.position
    depth = cases = 0
    is_field = False
    while depth or cases or is_field or not cursor.at(stop):
        token = cursor.token
        if token.kind is Kind.END or token.is_symbol(";"):
            raise cursor.error(f"expected {stop}, found {token}")
        if token.kind is Kind.SYMBOL:
            depth += _DEPTH.get(token.text, 0)
        if not is_field:
            cases += token.is_word("CASE")
            cases -= token.is_word("END") and cases > 0
        # A word behind a dot is a name, whatever it says.
        is_field = token.is_symbol(".")
        last = cursor.next().end
    if last == start:
        raise cursor.error(f"expected an expression, found {cursor.token}")
    return Slice(cursor.sql[start:last], start)


def no_cursors(cursor: Cursor) -> SqlError:
    return cursor.error(
        "cursors over Delta tables are not supported on Spark Connect",
        hint="write a loop: FOR r AS SELECT ... DO ... END FOR",
    )


def likely_statements(text: str) -> list[str]:
    """What may be the statements of a script that cannot be parsed."""
    try:
        tokens = tokenize(text)
    except PredicateError:
        return [text]
    found = []
    for before, token in zip([None, *tokens], tokens, strict=False):
        begins = before is None or before.is_symbol(";") or before.is_word(*_BEFORE_STATEMENTS)
        if begins and token.kind is Kind.WORD:
            end = next(
                (each for each in tokens if each.is_symbol(";") and each.position > token.position),
                tokens[-1],
            )
            found.append(text[token.position : end.position])
    return found


_BEFORE_STATEMENTS = ("BEGIN", "THEN", "ELSE", "DO", "LOOP", "REPEAT", "FOR", "AS", "FOUND")
