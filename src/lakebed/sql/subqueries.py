"""Delta tables in the subqueries of a condition, and the queries that a WITH before it names.

Spark resolves them by name, and would not find the files. So they become temporary views for as
long as the statement runs, each of the version that is the newest now.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from lakebed.expressions.tokens import Kind, Token, tokenize
from lakebed.spark.session_catalog import find
from lakebed.sql.context import SqlContext
from lakebed.sql.grammar.ctes import cte_names
from lakebed.sql.statement import Slice, TableRef

_NAMES = (Kind.WORD, Kind.QUOTED)
_AFTER = (
    *("WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "UNION", "EXCEPT", "INTERSECT", "MINUS"),
    *("JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "SEMI", "ANTI", "NATURAL", "ON", "USING"),
    *("LATERAL", "WINDOW", "CLUSTER", "DISTRIBUTE", "SORT", "VERSION", "TIMESTAMP", "FOR", "PIVOT"),
    *("TABLESAMPLE", "OFFSET", "QUALIFY", "UNPIVOT"),
)


@contextmanager
def with_views(
    context: SqlContext, texts: Sequence[str | None], ctes: Slice | None = None
) -> Iterator[list[str | None]]:
    """The texts with views in the place of Delta tables; the views end with the block."""
    views = _Views(context, ctes)
    try:
        yield [None if text is None else views.rewritten(text) for text in texts]
    finally:
        views.drop()


class _Views:
    def __init__(self, context: SqlContext, ctes: Slice | None) -> None:
        self._context = context
        self._ctes = ctes
        self._queries = () if ctes is None else cte_names(ctes)
        self._names: dict[str, str] = {}

    def rewritten(self, text: str) -> str:
        tokens = tokenize(text)
        if not any(token.is_word("SELECT") for token in tokens):
            return text
        out, start = "", 0
        for first, last in table_names(tokens):
            ref = TableRef(tuple(t.text for t in tokens[first : last + 1 : 2]), 0)
            view = self._view(ref)
            if view is None:
                continue
            follows = tokens[last + 1]
            named = follows.is_word("AS") or (
                follows.kind in _NAMES and not follows.is_word(*_AFTER)
            )
            alias = "" if named else f" AS `{ref.parts[-1].replace('`', '``')}`"
            out += f"{text[start : tokens[first].position]}{view}{alias}"
            start = tokens[last].end
        return out + text[start:]

    def drop(self) -> None:
        for name in self._names.values():
            self._context.session.catalog.dropTempView(name)

    def _view(self, ref: TableRef) -> str | None:
        key = str(ref).lower()
        if key in self._names:
            return self._names[key]
        is_query = len(ref.parts) == 1 and ref.parts[0].lower() in self._queries
        if not is_query and ref.path is None and not self._is_delta(ref):
            return None
        name = f"lakebed_{uuid.uuid4().hex}"
        before = f"{self._ctes} " if is_query else ""
        frame = self._context.session.sql(f"{before}SELECT * FROM {ref}")
        frame.createOrReplaceTempView(name)
        self._names[key] = name
        return name

    def _is_delta(self, ref: TableRef) -> bool:
        found = find(self._context.session, ref.parts)
        return found is not None and (found.is_delta or found.is_view)


def table_names(tokens: Sequence[Token]) -> list[tuple[int, int]]:
    """Where tables are named behind FROM and JOIN of a SELECT: first and last token of each."""
    found: list[tuple[int, int]] = []
    selects = [False]
    place = 0
    while place < len(tokens):
        token = tokens[place]
        if token.is_symbol("("):
            selects.append(False)
        elif token.is_symbol(")") and len(selects) > 1:
            selects.pop()
        elif token.is_word("SELECT"):
            selects[-1] = True
        elif selects[-1] and token.is_word("FROM", "JOIN") and not _is_distinct(tokens, place):
            place = _named(tokens, place + 1, found)
            continue
        place += 1
    return _not_queries(tokens, found)


def _is_distinct(tokens: Sequence[Token], place: int) -> bool:
    return place > 0 and tokens[place - 1].is_word("DISTINCT")


def _named(tokens: Sequence[Token], place: int, found: list[tuple[int, int]]) -> int:
    """A list of tables; gives the place behind what it read."""
    while tokens[place].kind in _NAMES:
        last = place
        while tokens[last + 1].is_symbol(".") and tokens[last + 2].kind in _NAMES:
            last += 2
        if tokens[last + 1].is_symbol("("):
            return last + 1
        found.append((place, last))
        place = last + 1
        if tokens[place].is_word("AS"):
            place += 1
        if tokens[place].kind in _NAMES and not tokens[place].is_word(*_AFTER):
            place += 1
        if not tokens[place].is_symbol(","):
            return place
        place += 1
    return place


def _not_queries(
    tokens: Sequence[Token], found: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Without the names that a WITH gives to a query."""
    ctes = {
        tokens[place].text.lower()
        for place in range(len(tokens) - 2)
        if tokens[place + 1].is_word("AS") and tokens[place + 2].is_symbol("(")
    }
    return [
        (first, last)
        for first, last in found
        if first != last or tokens[first].text.lower() not in ctes
    ]
