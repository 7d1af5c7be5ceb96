"""INSERT and MERGE with clauses that not every Spark parses, also behind WITH.

REPLACE ON and USING, WITH SCHEMA EVOLUTION, and sources of a MERGE that Spark parses behind FROM
alone: functions, versions, names of columns. Spark parses the statement without these clauses.
"""

from __future__ import annotations

import re
from typing import Any

from lakebed.expressions.parser.tokens import Kind, Token
from lakebed.sql.cursor import Cursor
from lakebed.sql.grammar.column_refs import columns
from lakebed.sql.rest_statements import RestStatement
from lakebed.sql.statement import Slice, Statement

QUERY = ("SELECT", "VALUES", "WITH", "TABLE", "FROM", "MAP", "REDUCE")


def parse_insert(cursor: Cursor) -> RestStatement | None:
    """None for an INSERT into a directory."""
    return _Insert(cursor).parsed()


class _Insert:
    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor
        self._without: list[Slice] = []
        self._facts: dict[str, Any] = {}
        self._parts: dict[str, tuple[str, Slice]] = {}
        self._columns: list[str] = []

    def parsed(self) -> RestStatement | None:
        cursor = self._cursor
        cursor.expect("INSERT")
        start = cursor.position
        if cursor.accept("WITH", "SCHEMA", "EVOLUTION"):
            self._leave_out(start)
            self._facts["evolves"] = True
        overwrites = cursor.accept("OVERWRITE")
        if not overwrites:
            cursor.expect("INTO")
        if cursor.accept("LOCAL", "DIRECTORY") or (
            cursor.at("DIRECTORY") and not cursor.peek().is_symbol(".")
        ):
            return None
        cursor.accept("TABLE")
        table = cursor.table()
        start = cursor.position
        name = _alias(cursor)
        self._leave_out(start)
        if cursor.accept("PARTITION"):
            cursor.enclosed()
            cursor.accept("IF", "NOT", "EXISTS")
        names = self._names()
        if not overwrites:
            self._replaced(names)
        self._names()
        if not (cursor.at_any(*QUERY) or cursor.at_symbol("(")):
            raise cursor.error(f"expected the rows to insert, found {cursor.token}", hint=_HINT)
        if "condition" in self._parts:
            self._facts["alias"] = name
            self._pass_query()
        elif name is not None:
            raise cursor.error(
                "an alias of the table goes with REPLACE ON alone", hint="leave it out"
            )
        return RestStatement(
            table,
            kind="insert",
            without=tuple(self._without),
            facts=self._facts,
            parts=self._parts,
        )

    def _leave_out(self, start: int) -> None:
        self._without.append(Slice(self._cursor.sql[start : self._cursor.position], start))

    def _names(self) -> Slice | None:
        """BY NAME, which may also be behind what is replaced; where columns are, if there are."""
        cursor, start = self._cursor, self._cursor.position
        if cursor.accept("BY", "NAME"):
            self._leave_out(start)
            self._facts["by_name"] = True
        elif cursor.at_symbol("(") and not _at_query(cursor):
            self._columns = [each.parts[-1] for each in columns(cursor)]
            return Slice(cursor.sql[start : cursor.position], start)
        return None

    def _replaced(self, names: Slice | None) -> None:
        """REPLACE WHERE every Spark parses, but before 4.2 without columns."""
        cursor, start = self._cursor, self._cursor.position
        if not cursor.accept("REPLACE"):
            return
        if cursor.accept("WHERE"):
            cursor.expression(*QUERY, ("BY", "NAME"))
            if names is not None:
                self._without.append(names)
                self._facts["columns"] = self._columns
            return
        if cursor.accept("USING"):
            self._facts["using"] = [".".join(each.parts) for each in columns(cursor)]
        elif cursor.accept("ON"):
            self._parts["condition"] = ("SELECT", _condition(cursor))
        else:
            raise cursor.error(f"expected WHERE, USING or ON, found {cursor.token}")
        self._leave_out(start)

    def _pass_query(self) -> None:
        """The name of a query in parentheses, `(SELECT ...) AS s(a, b)`, is no part of it."""
        cursor = self._cursor
        if not cursor.at_symbol("("):
            return
        cursor.enclosed()
        start = cursor.position
        cursor.accept("AS")
        if not cursor.at_name:
            return
        name, names = cursor.identifier("an alias"), None
        if cursor.at_symbol("("):
            names = [each.parts[-1] for each in columns(cursor)]
        if cursor.is_at_end:
            self._leave_out(start)
            self._facts |= {"source_alias": name, "source_columns": names}


_HINT = "rows are VALUES (...), a SELECT, or TABLE and a name"


def _at_query(cursor: Cursor) -> bool:
    inside = cursor.peek()
    return inside.is_word(*QUERY) or inside.is_symbol("(", ")")


def _alias(cursor: Cursor) -> str | None:
    """[AS] name; a word that begins the rest of the statement is none."""
    if cursor.accept("AS"):
        return cursor.identifier("an alias")
    is_alias = cursor.at_name and cursor.peek().is_word("REPLACE", "BY")
    return cursor.identifier() if is_alias and not cursor.at_any("BY", "REPLACE") else None


def _condition(cursor: Cursor) -> Slice:
    """Up to the query, which may be in parentheses: `t.id = s.id (SELECT ...) AS s`."""
    start = end = cursor.position
    before: Token | None = None
    while not cursor.is_at_end and not (before is not None and cursor.at_any(*QUERY)):
        token = cursor.token
        if token.is_symbol("("):
            if before is not None and cursor.peek().is_word(*QUERY) and _ends_value(before):
                break
            cursor.enclosed()
        else:
            cursor.next()
        before = cursor.passed(cursor.mark() - 1)[0]
        end = before.end
    if before is None:
        raise cursor.error(f"expected a condition, found {cursor.token}")
    return Slice(cursor.sql[start:end], start)


_GOES_ON = (
    *("AND", "OR", "NOT", "IN", "EXISTS", "LIKE", "ILIKE", "RLIKE", "REGEXP", "BETWEEN", "IS"),
    *("ANY", "SOME", "ALL", "CASE", "WHEN", "THEN", "ELSE", "DIV", "FROM", "DISTINCT"),
)


def _ends_value(token: Token) -> bool:
    """Whether a value ends with the token, so that a parenthesis behind it begins the query."""
    if token.kind is Kind.SYMBOL:
        return token.is_symbol(")", "]")
    return not token.is_word(*_GOES_ON)


def parse_merge(cursor: Cursor) -> RestStatement:
    cursor.expect("MERGE")
    cursor.accept("WITH", "SCHEMA", "EVOLUTION")
    cursor.expect("INTO")
    table = cursor.table()
    cursor.accept("AS")
    if not cursor.at("USING"):
        cursor.identifier("an alias")
    cursor.expect("USING")
    source = cursor.expression("ON")
    return RestStatement(
        table,
        kind="merge",
        without=(source,),
        parts={"source": ("SELECT * FROM", source)},
        placeholder=source.position,
    )


_MAYBE = re.compile(r"\)\s*(?:INSERT|MERGE)\b", re.IGNORECASE)


def parse_with(cursor: Cursor) -> Statement | None:
    """None for queries. Whatever is odd about the WITH itself is for Spark to tell."""
    if _MAYBE.search(cursor.sql) is None or not _pass_ctes(cursor):
        return None
    if cursor.at("INSERT"):
        return parse_insert(cursor)
    return parse_merge(cursor) if cursor.at("MERGE") else None


def _pass_ctes(cursor: Cursor) -> bool:
    cursor.expect("WITH")
    cursor.accept("RECURSIVE")
    while True:
        if not cursor.at_name:
            return False
        cursor.next()
        cursor.until("AS")
        if not cursor.accept("AS") or not cursor.at_symbol("("):
            return False
        cursor.enclosed()
        if not cursor.accept_symbol(","):
            return True
