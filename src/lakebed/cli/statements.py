"""Several statements in one text: where one ends and the next begins."""

from __future__ import annotations

import re

from lakebed.errors import SqlTextError
from lakebed.sql.parse import is_script
from lakebed.sql.script.grammar import parse_script

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
    if not is_script(text):
        return False
    try:
        parse_script(text)
    except SqlTextError as error:
        # A mistake before the end stays one, whatever follows: Spark is to tell it.
        return error.position is not None and error.position >= len(text.rstrip())
    return False


def _has_words(text: str) -> bool:
    return bool(re.sub(r"--[^\n]*(?:\n|$)|/\*.*?(?:\*/|$)", "", text, flags=re.DOTALL).strip())
