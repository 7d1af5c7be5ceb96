"""SQL text as tokens, by the lexical rules of Spark's grammar."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum, auto
from typing import NamedTuple

from lakebed.errors import PredicateError


class Kind(Enum):
    WORD = auto()
    QUOTED = auto()
    STRING = auto()
    BINARY = auto()
    NUMBER = auto()
    SYMBOL = auto()
    END = auto()


class Token(NamedTuple):
    """`text` is the word, name or string without its quotes, the symbol, or the number's digits."""

    kind: Kind
    text: str
    position: int
    end: int

    def is_word(self, *words: str) -> bool:
        return self.kind is Kind.WORD and self.text.upper() in words

    def is_symbol(self, *symbols: str) -> bool:
        return self.kind is Kind.SYMBOL and self.text in symbols

    def __str__(self) -> str:
        if self.kind is Kind.END:
            return "the end"
        return f"a string {self.text!r}" if self.kind is Kind.STRING else repr(self.text)


def tokenize(sql: str) -> list[Token]:
    """All tokens without blanks and comments; the last one is the end."""
    tokens, position = [], 0
    while position < len(sql):
        match = _TOKEN.match(sql, position)
        if match is None or match.lastgroup is None:
            raise _unexpected(sql, position)
        if match.lastgroup != "blank":
            tokens.append(_READERS[match.lastgroup](sql, match))
        position = match.end()
    return [*tokens, Token(Kind.END, "", len(sql), len(sql))]


_TOKEN = re.compile(
    r"""
      (?P<blank>    \s+ | --[^\n]* | /\*(?:(?!/\*).)*?\*/ )
    | (?P<string>   '(?:[^'\\]|\\.|'')*' | "(?:[^"\\]|\\.|"")*" )
    | (?P<raw>      [rR](?:'[^']*'|"[^"]*") )
    | (?P<binary>   [xX](?:'[^']*'|"[^"]*") )
    | (?P<quoted>   `(?:[^`]|``)+` )
    | (?P<number>   (?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?
                    (?:[LlSsYyFfDd]|[Bb][Dd])?(?!\w) )
    | (?P<word>     \w+ )
    | (?P<symbol>   <=> | <> | != | == | <= | >= | !< | !> | \|\| | :: | ->
                  | (?!/\*)[-+*/%=<>(),.!&|^~\[\]:?@$;{}] )
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([0-1][0-7]{2})|(.))"
# A quote that is written twice is one, as in Spark from 4.0 on.
_ESCAPES = {quote: re.compile(f"{_ESCAPE}|{quote}{quote}", re.DOTALL) for quote in "'\""}
_ESCAPED = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a"}
_UNTERMINATED = {
    "'": "this string has no closing quote",
    '"': "this string has no closing quote",
    "`": "this name has no closing backtick",
    "/": "this comment has no end",
}


def _string(sql: str, match: re.Match[str]) -> Token:
    try:
        raw = match.lastgroup == "raw"
        escapes = _ESCAPES.get(match[0][0])
        inside = match[0][2:-1] if raw else match[0][1:-1]
        text = _whole(inside if raw or escapes is None else escapes.sub(_character, inside))
    except (ValueError, OverflowError) as error:
        message = "this string has an escape that is no character"
        raise PredicateError(message, sql=sql, position=match.start()) from error
    return Token(Kind.STRING, text, match.start(), match.end())


def _binary(sql: str, match: re.Match[str]) -> Token:
    digits = match[0][2:-1]
    if re.fullmatch(r"[0-9A-Fa-f]*", digits) is None:
        raise PredicateError(
            f"{digits!r} has characters that are no hexadecimal digits",
            sql=sql,
            position=match.start(),
        )
    return Token(Kind.BINARY, digits, match.start(), match.end())


def _quoted(_: str, match: re.Match[str]) -> Token:
    return Token(Kind.QUOTED, match[0][1:-1].replace("``", "`"), match.start(), match.end())


def _plain(kind: Kind, match: re.Match[str]) -> Token:
    return Token(kind, match[0], match.start(), match.end())


_READERS: dict[str, Callable[[str, re.Match[str]], Token]] = {
    "string": _string,
    "raw": _string,
    "binary": _binary,
    "quoted": _quoted,
    "number": lambda _, match: _plain(Kind.NUMBER, match),
    "word": lambda _, match: _plain(Kind.WORD, match),
    "symbol": lambda _, match: _plain(Kind.SYMBOL, match),
}


def _whole(text: str) -> str:
    """Two \\u escapes may be one character, as in Java; half a character is an error."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16")


def _character(match: re.Match[str]) -> str:
    short, long, octal, other = match.groups()
    if match[0][0] != "\\":
        return match[0][0]
    if short or long:
        return chr(int(short or long, 16))
    if octal:
        return chr(int(octal, 8))
    # A backslash before a wildcard is left for LIKE to see.
    return match[0] if other in "%_" else _ESCAPED.get(other, other)


def _unexpected(sql: str, position: int) -> PredicateError:
    character = sql[position]
    message = _UNTERMINATED.get(character, f"unexpected character {character!r}")
    return PredicateError(message, sql=sql, position=position)
