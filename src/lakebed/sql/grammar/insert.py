"""INSERT, in all its forms."""

from __future__ import annotations

from dataclasses import dataclass

from lakebed.expressions.tokens import Kind, Token
from lakebed.sql.cursor import Cursor
from lakebed.sql.grammar.column_names import ColumnRef, column, columns
from lakebed.sql.statement import Slice, Statement

QUERY = ("SELECT", "VALUES", "WITH", "TABLE", "FROM", "MAP", "REDUCE")


@dataclass(frozen=True)
class PartitionPart:
    """`column = value`, or only the column: its values come with the rows."""

    column: ColumnRef
    value: Slice | None


@dataclass(frozen=True, kw_only=True)
class InsertStatement(Statement):
    """`replace_using` are columns: rows with the same values in them are replaced.

    `replace_on` is a condition on a row of the table and one of the query, which it may call by
    `alias` and `source_alias`: rows that meet one for which it is true are replaced.
    """

    query: Slice
    overwrites: bool = False
    partition: tuple[PartitionPart, ...] = ()
    if_not_exists: bool = False
    columns: tuple[ColumnRef, ...] | None = None
    by_name: bool = False
    replace_where: Slice | None = None
    replace_using: tuple[ColumnRef, ...] = ()
    replace_on: Slice | None = None
    alias: str | None = None
    source_alias: str | None = None
    evolves: bool = False
    ctes: Slice | None = None


def parse_insert(cursor: Cursor, ctes: Slice | None = None) -> InsertStatement | None:
    cursor.expect("INSERT")
    evolves = cursor.accept("WITH", "SCHEMA", "EVOLUTION")
    overwrites = cursor.accept("OVERWRITE")
    if not overwrites:
        cursor.expect("INTO")
    if cursor.accept("LOCAL", "DIRECTORY") or (
        cursor.at("DIRECTORY") and not cursor.peek().is_symbol(".")
    ):
        return None
    cursor.accept("TABLE")
    table = cursor.table()
    name = _alias(cursor)
    parts = partition(cursor)
    if_not_exists = bool(parts) and cursor.accept("IF", "NOT", "EXISTS")
    by_name = cursor.accept("BY", "NAME")
    names = None if by_name or not _at_columns(cursor) else columns(cursor)
    replaced = _Replaced() if overwrites else _replaced(cursor)
    by_name = by_name or (names is None and cursor.accept("BY", "NAME"))
    if not (cursor.at_any(*QUERY) or cursor.at_symbol("(")):
        raise cursor.error(f"expected the rows to insert, found {cursor.token}", hint=_HINT)
    if name is not None and replaced.on is None:
        raise cursor.error("an alias of the table goes with REPLACE ON alone", hint="leave it out")
    query, source_alias = _query(cursor, aliased=replaced.on is not None)
    return InsertStatement(
        table,
        query=query,
        overwrites=overwrites,
        partition=parts,
        if_not_exists=if_not_exists,
        columns=names,
        by_name=by_name,
        replace_where=replaced.where,
        replace_using=replaced.using,
        replace_on=replaced.on,
        alias=name,
        source_alias=source_alias,
        evolves=evolves,
        ctes=ctes,
    )


_HINT = "rows are VALUES (...), a SELECT, or TABLE and a name"


def _at_columns(cursor: Cursor) -> bool:
    if not cursor.at_symbol("("):
        return False
    inside = cursor.peek()
    return not (inside.is_word(*QUERY) or inside.is_symbol("(", ")"))


def partition(cursor: Cursor) -> tuple[PartitionPart, ...]:
    if not cursor.accept("PARTITION"):
        return ()
    cursor.expect_symbol("(")
    found = [_part(cursor)]
    while cursor.accept_symbol(","):
        found.append(_part(cursor))
    cursor.expect_symbol(")")
    return tuple(found)


def _part(cursor: Cursor) -> PartitionPart:
    name = column(cursor)
    value = cursor.expression(",") if cursor.accept_symbol("=") else None
    return PartitionPart(name, value)


def _alias(cursor: Cursor) -> str | None:
    """[AS] name; a word that begins the rest of the statement is none."""
    if cursor.accept("AS"):
        return cursor.identifier("an alias")
    is_alias = cursor.at_name and cursor.peek().is_word("REPLACE", "BY")
    return cursor.identifier() if is_alias and not cursor.at_any("BY", "REPLACE") else None


@dataclass(frozen=True)
class _Replaced:
    where: Slice | None = None
    using: tuple[ColumnRef, ...] = ()
    on: Slice | None = None


def _replaced(cursor: Cursor) -> _Replaced:
    if not cursor.accept("REPLACE"):
        return _Replaced()
    if cursor.accept("USING"):
        return _Replaced(using=columns(cursor))
    if cursor.accept("ON"):
        return _Replaced(on=_condition(cursor))
    if not cursor.accept("WHERE"):
        raise cursor.error(f"expected WHERE, USING or ON, found {cursor.token}")
    return _Replaced(where=cursor.expression(*QUERY))


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


def _query(cursor: Cursor, *, aliased: bool) -> tuple[Slice, str | None]:
    if not aliased or not cursor.at_symbol("("):
        return cursor.rest(), None
    mark, start = cursor.mark(), cursor.position
    cursor.enclosed()
    query = Slice(cursor.sql[start : cursor.passed(cursor.mark() - 1)[0].end], start)
    cursor.accept("AS")
    name = cursor.identifier("an alias") if cursor.at_name else None
    if name is not None and cursor.at_symbol("("):
        names = cursor.enclosed()
        query = Slice(f"SELECT * FROM {query} AS s({names})", start)
    if not cursor.is_at_end:
        # There is more to the query, such as UNION.
        cursor.reset(mark)
        return cursor.rest(), None
    return query, name
