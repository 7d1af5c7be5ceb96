"""Names that a SQL condition compares for equality, wherever it is true.

For conditions of which only a part is understood: a name may be of any side, and what else there is
may be anything. Nothing is found rather than something that does not follow from the condition.
"""

from __future__ import annotations

from collections.abc import Sequence

from lakebed.errors import PredicateError
from lakebed.expressions.parser.tokens import Kind, Token, tokenize

Name = tuple[str, ...]
"""The parts of a name that has dots."""


def equal_names(sql: str) -> list[tuple[Name, Name]]:
    """The pairs of names that are equal in every row for which the condition is true."""
    try:
        tokens = tokenize(sql)[:-1]
    except PredicateError:
        return []
    return _conjuncts(tokens)


def _conjuncts(tokens: Sequence[Token]) -> list[tuple[Name, Name]]:
    if _is_wrapped(tokens):
        return _conjuncts(tokens[1:-1])
    depths = _depths(tokens)
    if depths is None:
        return []
    outer = [token for token, depth in zip(tokens, depths, strict=True) if depth == 0]
    if any(token.is_word(*_OTHER_GRAMMAR) for token in outer):
        return []
    pieces: list[list[Token]] = [[]]
    for token, depth in zip(tokens, depths, strict=True):
        if depth == 0 and token.is_word("AND"):
            pieces.append([])
        else:
            pieces[-1].append(token)
    if len(pieces) == 1:
        return _equality(tokens)
    return [pair for piece in pieces for pair in _conjuncts(piece)]


def _equality(tokens: Sequence[Token]) -> list[tuple[Name, Name]]:
    signs = [index for index, token in enumerate(tokens) if token.is_symbol("=", "==")]
    if len(signs) != 1:
        return []
    one, other = _name(tokens[: signs[0]]), _name(tokens[signs[0] + 1 :])
    return [(one, other)] if one is not None and other is not None else []


def _name(tokens: Sequence[Token]) -> Name | None:
    """The parts, if the tokens are names with dots between them and nothing else."""
    names, dots = tokens[::2], tokens[1::2]
    if len(names) != len(dots) + 1 or not all(dot.is_symbol(".") for dot in dots):
        return None
    if not all(name.kind in (Kind.WORD, Kind.QUOTED) for name in names):
        return None
    if len(names) == 1 and names[0].is_word(*_NO_NAMES):
        return None
    return tuple(name.text for name in names)


def _is_wrapped(tokens: Sequence[Token]) -> bool:
    """Whether one pair of parentheses is around everything."""
    depths = _depths(tokens)
    if depths is None or len(tokens) < 3 or not tokens[0].is_symbol("("):
        return False
    return all(depths[1:-1]) and tokens[-1].is_symbol(")")


def _depths(tokens: Sequence[Token]) -> list[int] | None:
    """In how many parentheses each token is; these themselves are outside. None if unbalanced."""
    depths, depth = [], 0
    for token in tokens:
        if token.is_symbol(*_CLOSING):
            depth -= 1
        if depth < 0:
            return None
        depths.append(depth)
        if token.is_symbol(*_OPENING):
            depth += 1
    return depths if depth == 0 else None


_OPENING, _CLOSING = ("(", "[", "{"), (")", "]", "}")
# An AND beside one of these may belong to it, or not decide alone.
_OTHER_GRAMMAR = ("OR", "BETWEEN", "CASE", "WHEN", "THEN", "ELSE", "END", "SELECT")
# Words that are values, or may be.
_NO_NAMES = (
    "NULL",
    "TRUE",
    "FALSE",
    "NOW",
    "USER",
    "CURRENT_USER",
    "SESSION_USER",
    "CURRENT_DATE",
    "CURRENT_TIME",
    "CURRENT_TIMESTAMP",
    "LOCALTIME",
    "LOCALTIMESTAMP",
    "CURRENT_CATALOG",
    "CURRENT_DATABASE",
    "CURRENT_SCHEMA",
)
