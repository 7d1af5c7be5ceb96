"""Names with a label before them: where the server has these variables.

The server does not know the labels of a script. So `label.v` becomes the name that the variable has
there. A table or alias of that name goes before a label, as columns go before variables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lakebed.expressions.tokens import Kind, Token, tokenize
from lakebed.sql.table_positions import table_positions

Places = Mapping[tuple[str, ...], str]
"""What to write for names of several parts, which are in small letters."""


def with_places(text: str, places: Places) -> str:
    if not places:
        return text
    tokens = tokenize(text)
    taken = {label for label in {each[0] for each in places} if _is_table(text, tokens, label)}
    parts, last = [], 0
    for first, width, name in _found(tokens, places):
        token, end = tokens[first], tokens[first + width - 1]
        if token.text.lower() not in taken:
            parts += [text[last : token.position], name]
            last = end.end
    return "".join([*parts, text[last:]])


def _found(tokens: list[Token], places: Places) -> Iterator[tuple[int, int, str]]:
    """Where such a name begins, how many tokens it has, and what to write."""
    for at, token in enumerate(tokens):
        if not _is_name(token) or (at and tokens[at - 1].is_symbol(".")):
            continue
        chain = [token.text.lower()]
        while tokens[at + 2 * len(chain) - 1].is_symbol(".") and _is_name(
            tokens[at + 2 * len(chain)]
        ):
            chain.append(tokens[at + 2 * len(chain)].text.lower())
        for length in (3, 2):
            name = places.get(tuple(chain[:length]))
            is_call = tokens[at + 2 * len(chain) - 1].is_symbol("(")
            if len(chain) >= length and name is not None and not is_call:
                yield at, 2 * length - 1, name
                break


def _is_name(token: Token) -> bool:
    return token.kind in (Kind.WORD, Kind.QUOTED)


def _is_table(text: str, tokens: list[Token], label: str) -> bool:
    """Whether the statement has a table of that name, or an alias."""
    if any(each.parts[-1].lower() == label for each in table_positions(text)):
        return True
    for before, token, after in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if not _is_name(token) or token.text.lower() != label or after.is_symbol("."):
            continue
        is_word = _is_name(before) and not before.is_word(*_BEFORE_VALUES)
        if is_word or before.is_symbol(")"):
            return True
    return False


_BEFORE_VALUES = (
    *("SELECT", "DISTINCT", "ALL", "WHERE", "AND", "OR", "NOT", "ON", "HAVING", "BY", "WHEN"),
    *("THEN", "ELSE", "CASE", "SET", "VAR", "VARIABLE", "VALUES", "IN", "LIKE", "BETWEEN", "IS"),
    *("LIMIT", "OFFSET", "USING", "INTO", "DIV", "DEFAULT", "IMMEDIATE", "ESCAPE", "OF"),
)
"""Words with an expression behind them, not an alias."""
