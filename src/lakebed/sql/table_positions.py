"""Where a query names tables, found by its tokens: for sessions whose parser is out of reach.

A name is that of a table behind FROM, JOIN or TABLE, and behind commas of a FROM clause. What is
not understood is left out; Spark then says what it makes of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from lakebed.errors import PredicateError
from lakebed.expressions.tokens import Kind, Token, tokenize

CHANGES = ("table_changes", "table_changes_by_path")


@dataclass(frozen=True)
class TablePosition:
    """A table in the text from `start` to `end`, with its version and options."""

    parts: tuple[str, ...]
    start: int
    end: int
    has_alias: bool
    """Or stands where none can be."""
    version: str | None = None
    timestamp: str | None = None
    """An expression."""
    options: dict[str, str] = field(default_factory=dict)
    arguments: tuple[str, ...] | None = None
    """Expressions, of table_changes(...)."""


def table_positions(text: str) -> list[TablePosition]:
    """Without names of common table expressions. Empty if the text cannot be read."""
    try:
        tokens = tokenize(text)
    except PredicateError:
        return []
    scan = _Scan(text, tokens)
    found = list(scan.tables())
    return [each for each in found if not scan.is_shadowed(each)]


def without_version(
    parts: tuple[str, ...],
) -> tuple[tuple[str, ...], str | None, str | None]:
    """A name such as `orders@v3` without its version; then the version, or the time."""
    found = _VERSIONED.fullmatch(parts[-1])
    is_path = len(parts) == 2 and parts[0].lower() == "delta"
    if found is None or is_path:
        return parts, None, None
    d = found[3] or ""
    timestamp = f"{d[:4]}-{d[4:6]}-{d[6:8]} {d[8:10]}:{d[10:12]}:{d[12:14]}.{d[14:]}"
    return (*parts[:-1], found[1]), found[2], timestamp


@dataclass
class _Group:
    """What is inside of a pair of parentheses, or the whole text."""

    start: int
    end: int
    selects: bool = False
    in_from: bool = False


@dataclass(frozen=True)
class _Shadow:
    """A common table expression: from `start` to `end` its name is not that of a table."""

    name: str
    start: int
    end: int


class _Scan:
    def __init__(self, text: str, tokens: list[Token]) -> None:
        self._text = text
        self._tokens = tokens
        self._closing = _pairs(tokens)
        self._shadows: list[_Shadow] = []
        self._at = 0

    def is_shadowed(self, table: TablePosition) -> bool:
        return len(table.parts) == 1 and any(
            each.name == table.parts[0].lower() and each.start <= table.start < each.end
            for each in self._shadows
        )

    def tables(self) -> Iterator[TablePosition]:
        groups = [_Group(0, len(self._text))]
        expects = False
        while (token := self._peek()).kind is not Kind.END:
            if expects and not token.is_symbol("(") and not token.is_word("LATERAL"):
                expects = False
                found = self._table()
                if found is not None:
                    yield found
                    continue
            self._at += 1
            if token.is_symbol("("):
                groups.append(self._opened(expects))
                expects = groups[-1].in_from
            elif token.is_symbol(")") and len(groups) > 1:
                groups.pop()
                expects = False
            elif not self._is_field(self._at - 1):
                expects = self._moved(token, groups[-1], expects)

    def _opened(self, expects: bool) -> _Group:
        """Behind FROM, what is in parentheses and no query is a table again."""
        start = self._at - 1
        end = self._tokens[self._closing.get(start, len(self._tokens) - 1)].position
        is_query = self._peek().is_word("SELECT", "WITH", "VALUES", "FROM", "TABLE", "MAP")
        return _Group(self._tokens[start].position, end, in_from=expects and not is_query)

    def _moved(self, token: Token, group: _Group, expects: bool) -> bool:
        """What a word or comma changes; whether a table comes next."""
        before = self._tokens[self._at - 2] if self._at > 1 else None
        if token.is_symbol(","):
            return group.in_from
        if token.is_word("LATERAL"):
            return expects
        if token.is_word("SELECT"):
            group.selects, group.in_from = True, False
        elif token.is_word("FROM"):
            is_comparison = before is not None and before.is_word("DISTINCT")
            is_first = before is None or before.is_symbol("(")
            group.in_from = (group.selects and not is_comparison) or is_first
            return group.in_from
        elif token.is_word("JOIN") and group.in_from:
            return True
        elif token.is_word("TABLE"):
            return before is None or before.is_symbol("(") or before.is_word(*_SET_OPERATIONS)
        elif token.is_word("WITH"):
            self._note_shadows(group)
        elif token.is_word(*_ENDS_OF_FROM):
            group.in_from = False
        return False

    def _table(self) -> TablePosition | None:
        start = self._at
        parts = self._parts()
        if not parts or self._peek().is_symbol("("):
            is_changes = len(parts) == 1 and parts[0].lower() in CHANGES
            return self._changes(parts, start) if is_changes else None
        version, timestamp = self._as_of()
        options = self._options()
        takes_none = start > 0 and self._tokens[start - 1].is_word("TABLE")
        return TablePosition(
            tuple(parts),
            self._tokens[start].position,
            self._tokens[self._at - 1].end,
            takes_none or self._has_alias(),
            version,
            timestamp,
            options,
        )

    def _parts(self) -> list[str]:
        parts: list[str] = []
        while self._peek().kind in (Kind.WORD, Kind.QUOTED):
            if not parts and self._peek().is_word("SELECT", "VALUES", "WITH", "LATERAL"):
                break
            parts.append(self._next().text)
            if not self._peek().is_symbol("."):
                break
            self._at += 1
        return parts

    def _as_of(self) -> tuple[str | None, str | None]:
        mark = self._at
        if self._peek().is_word("FOR"):
            self._at += 1
        kind = self._next()
        is_as_of = self._peek().is_word("AS") and self._peek(1).is_word("OF")
        if not is_as_of or not kind.is_word(
            "VERSION", "SYSTEM_VERSION", "TIMESTAMP", "SYSTEM_TIME"
        ):
            self._at = mark
            return None, None
        self._at += 2
        if kind.is_word("VERSION", "SYSTEM_VERSION"):
            return self._next().text, None
        return None, self._expression()

    def _expression(self) -> str:
        """Up to where a table in a FROM clause ends."""
        start = self._peek().position
        depth, last = 0, start
        while (token := self._peek()).kind is not Kind.END:
            is_end = token.is_word(*_KEYWORDS) or token.is_symbol(",", ")", ";")
            if depth == 0 and (is_end or (last > start and self._is_behind_value(token))):
                break
            depth += token.is_symbol("(") - token.is_symbol(")")
            last = self._next().end
        return self._text[start:last]

    def _is_behind_value(self, token: Token) -> bool:
        """Whether a word can be no part of the expression before it: it is an alias then."""
        if token.kind is not Kind.WORD or token.is_word(*_OPERATORS):
            return False
        before = self._tokens[self._at - 1]
        is_amount = before.kind in (Kind.STRING, Kind.NUMBER)
        if is_amount and token.is_word(*_UNITS):
            return False
        is_word = before.kind is Kind.WORD and not before.is_word(*_OPERATORS, *_PREFIXES)
        return is_word or is_amount or before.is_symbol(")")

    def _options(self) -> dict[str, str]:
        if not (self._peek().is_word("WITH") and self._peek(1).is_symbol("(")):
            return {}
        end = self._closing.get(self._at + 1, len(self._tokens) - 1)
        given = self._tokens[self._at + 2 : end]
        self._at = end + 1
        found = {}
        while given:
            comma = next((i for i, each in enumerate(given) if each.is_symbol(",")), len(given))
            pair, given = given[:comma], given[comma + 1 :]
            words = [each.text for each in pair if not each.is_symbol("=")]
            if len(words) > 1:
                found["".join(words[:-1])] = words[-1]
        return found

    def _changes(self, parts: list[str], start: int) -> TablePosition | None:
        closing = self._closing.get(self._at)
        if closing is None:
            return None
        arguments, first, depth = [], self._tokens[self._at].end, 0
        for token in self._tokens[self._at + 1 : closing + 1]:
            depth += token.is_symbol("(") - token.is_symbol(")")
            if depth < 0 or (depth == 0 and token.is_symbol(",")):
                arguments.append(self._text[first : token.position].strip())
                first = token.end
        self._at = closing + 1
        end = self._tokens[closing].end
        return TablePosition(
            tuple(parts),
            self._tokens[start].position,
            end,
            self._has_alias(),
            arguments=tuple(each for each in arguments if each),
        )

    def _has_alias(self) -> bool:
        token = self._peek()
        is_name = token.kind in (Kind.WORD, Kind.QUOTED) and not token.is_word(*_KEYWORDS)
        return token.is_word("AS") or is_name

    def _note_shadows(self, group: _Group) -> None:
        """WITH name [(columns)] AS (query), ...: a name counts behind its query."""
        at = self._at
        is_recursive = self._tokens[at].is_word("RECURSIVE")
        at += is_recursive
        while self._tokens[at].kind in (Kind.WORD, Kind.QUOTED):
            name, at = self._tokens[at].text.lower(), at + 1
            if self._tokens[at].is_symbol("("):
                at = self._closing.get(at, len(self._tokens) - 2) + 1
            if not self._tokens[at].is_word("AS") or not self._tokens[at + 1].is_symbol("("):
                return
            body, close = at + 1, self._closing.get(at + 1, len(self._tokens) - 1)
            start = self._tokens[body if is_recursive else close].position
            self._shadows.append(_Shadow(name, start, group.end))
            at = close + 1
            if at >= len(self._tokens) or not self._tokens[at].is_symbol(","):
                return
            at += 1

    def _is_field(self, place: int) -> bool:
        """A word behind a dot is a name, whatever it says."""
        return place > 0 and self._tokens[place - 1].is_symbol(".")

    def _peek(self, ahead: int = 0) -> Token:
        return self._tokens[min(self._at + ahead, len(self._tokens) - 1)]

    def _next(self) -> Token:
        found = self._peek()
        self._at += found.kind is not Kind.END
        return found


def _pairs(tokens: list[Token]) -> dict[int, int]:
    """The place of each opening parenthesis with that of its other half."""
    found, opened = {}, []
    for place, token in enumerate(tokens):
        if token.is_symbol("("):
            opened.append(place)
        elif token.is_symbol(")") and opened:
            found[opened.pop()] = place
    return found


_VERSIONED = re.compile(r"(.+)@(?:[vV]([0-9]+)|([0-9]{17}))", re.DOTALL)
_SET_OPERATIONS = ("UNION", "EXCEPT", "INTERSECT", "MINUS", "ALL", "DISTINCT")
_ENDS_OF_FROM = (
    *_SET_OPERATIONS[:4],
    *("WHERE", "GROUP", "HAVING", "ORDER", "WINDOW", "LIMIT", "OFFSET", "QUALIFY"),
    *("CLUSTER", "DISTRIBUTE", "SORT", "INSERT", "MAP", "REDUCE"),
)
_KEYWORDS = (
    *_ENDS_OF_FROM,
    *("JOIN", "INNER", "CROSS", "LEFT", "RIGHT", "FULL", "OUTER", "SEMI", "ANTI", "NATURAL"),
    *("ON", "USING", "LATERAL", "PIVOT", "UNPIVOT", "TABLESAMPLE", "AS", "WITH", "SELECT", "FOR"),
    *("WHEN", "SET", "VERSION", "TIMESTAMP", "WATERMARK"),
)
"""Words that are no alias."""
_OPERATORS = ("AND", "OR", "NOT", "DIV", "IS", "IN", "AT", "TO")
_UNITS = tuple(
    each
    for unit in ("YEAR", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND")
    for each in (unit, f"{unit}S")
)
_PREFIXES = ("TIMESTAMP", "DATE", "INTERVAL", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ")
