"""Several statements in one text: where one ends and the next begins."""

from __future__ import annotations

import re

from lakebed.errors import PredicateError
from lakebed.expressions.parser.tokens import Token, tokenize

_PART = re.compile(
    r"""
      (?P<comment> --[^\n]*(?:\n|$) | /\*.*?(?:\*/|$) )
    | (?P<quoted>  '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" | `[^`]*` )
    | (?P<open>    ['"`] )
    | (?P<end>     ; )
    | (?P<other>   [^-/'"`;]+ | . )
    """,
    re.VERBOSE | re.DOTALL,
)


def split(text: str) -> list[str]:
    """The statements, without semicolons; those of comments and blanks alone are left out."""
    complete, rest = parts(text)
    return [*complete, *([rest] if _has_words(rest) else [])]


def parts(text: str) -> tuple[list[str], str]:
    """The statements that have ended, and what comes behind the last semicolon.

    Semicolons in quotes, names, comments and scripts divide nothing.
    """
    found: list[str] = []
    current = ""
    place = 0
    while place < len(text):
        match = _PART.match(text, place)
        assert match is not None
        if match.lastgroup == "open":
            # It has no other end: the rest belongs to it.
            return found, (current + text[place:]).strip()
        if match.lastgroup == "end" and not _is_begun_script(current):
            if _has_words(current):
                found.append(current.strip())
            current = ""
        else:
            current += match[0]
        place = match.end()
    return found, current.strip()


def _is_begun_script(text: str) -> bool:
    """Whether it is a script that wants more: BEGIN without its END."""
    try:
        words = tokenize(text)
    except PredicateError:
        # Spark reports what is wrong with it.
        return False
    start = 2 if len(words) > 2 and words[1].is_symbol(":") else 0
    return words[start].is_word("BEGIN") and _depth(words[start:]) > 0


def _depth(tokens: list[Token]) -> int:
    """How many blocks, branches, loops and CASE expressions have begun and not ended."""
    depth = 0
    starts, in_handler = True, False
    for place, token in enumerate(tokens):
        before = tokens[place - 1]
        opens = token.is_word("CASE") and not before.is_word("END")
        opens |= starts and token.is_word("BEGIN", "IF", "WHILE", "LOOP", "REPEAT", "FOR")
        opens |= in_handler and token.is_word("BEGIN")
        if not before.is_symbol("."):
            depth += 1 if opens else -1 if token.is_word("END") else 0
        in_handler = token.is_word("HANDLER") or (in_handler and not opens and token.text != ";")
        starts = token.is_symbol(";", ":") or token.is_word("THEN", "ELSE", "DO", "ATOMIC")
        starts |= opens and token.is_word("BEGIN", "LOOP", "REPEAT")
    return depth


def _has_words(text: str) -> bool:
    return bool(re.sub(r"--[^\n]*(?:\n|$)|/\*.*?(?:\*/|$)", "", text, flags=re.DOTALL).strip())
