"""MERGE INTO."""

from __future__ import annotations

from dataclasses import dataclass

from lakebed.commands.merge_request import Action, Kind
from lakebed.expressions.tokens import Kind as TokenKind
from lakebed.expressions.tokens import Token
from lakebed.sql.cursor import Cursor
from lakebed.sql.grammar.column_names import columns
from lakebed.sql.grammar.row_changes import Assigned, alias, assignments
from lakebed.sql.statement import Slice, Statement

_NEXT = (("WHEN", "MATCHED"), ("WHEN", "NOT", "MATCHED"))


@dataclass(frozen=True)
class When:
    """WHEN [NOT] MATCHED [BY ...] [AND condition] THEN action"""

    kind: Kind
    action: Action
    condition: Slice | None
    assigned: tuple[Assigned, ...]
    position: int


@dataclass(frozen=True, kw_only=True)
class MergeStatement(Statement):
    """`source` is what may stand behind FROM, without its alias; `source_columns` rename it."""

    alias: str | None = None
    source: Slice
    source_alias: str | None = None
    source_columns: Slice | None = None
    condition: Slice
    whens: tuple[When, ...] = ()
    evolves: bool = False
    ctes: Slice | None = None


def parse_merge(cursor: Cursor, ctes: Slice | None = None) -> MergeStatement:
    cursor.expect("MERGE")
    evolves = cursor.accept("WITH", "SCHEMA", "EVOLUTION")
    cursor.expect("INTO")
    table = cursor.table()
    target = alias(cursor, "USING")
    cursor.expect("USING")
    source, name, names = _source(cursor)
    cursor.expect("ON")
    condition = cursor.expression(*_NEXT)
    whens = []
    while cursor.at("WHEN"):
        whens.append(_when(cursor))
    if not whens:
        raise cursor.error(f"expected WHEN [NOT] MATCHED, found {cursor.token}")
    cursor.expect_end()
    return MergeStatement(
        table,
        alias=target,
        source=source,
        source_alias=name,
        source_columns=names,
        condition=condition,
        whens=tuple(whens),
        evolves=evolves,
        ctes=ctes,
    )


def _source(cursor: Cursor) -> tuple[Slice, str | None, Slice | None]:
    """A table, a query in parentheses or a function, then [AS] alias [(columns)]."""
    start = cursor.mark()
    whole = cursor.expression("ON")
    tokens = cursor.passed(start)
    names = None
    opening = _open(tokens)
    if tokens[-1].is_symbol(")") and _is_alias(tokens, opening):
        names = Slice(cursor.sql[tokens[opening].position : tokens[-1].end], whole.position)
        tokens = tokens[:opening]
    elif not _is_alias(tokens, len(tokens)):
        last = tokens[-1]
        is_plain = all(_is_name(each) or each.is_symbol(".") for each in tokens)
        return whole, last.text if is_plain else None, None
    name = tokens[-1].text
    tokens = tokens[:-1]
    if tokens[-1].is_word("AS"):
        tokens = tokens[:-1]
    text = cursor.sql[tokens[0].position : tokens[-1].end]
    return Slice(text, whole.position), name, names


def _is_alias(tokens: list[Token], end: int) -> bool:
    """Whether the last token before `end` is an alias, and not a part of what it names."""
    if end < 2 or not _is_name(tokens[end - 1]):
        return False
    before = tokens[end - 2]
    if before.is_word("AS"):
        return end > 2 and not tokens[end - 1].is_word("OF")
    return _is_name(before) or before.is_symbol(")") or before.kind in _VALUES


def _open(tokens: list[Token]) -> int:
    """Where the parenthesis opens that the last token closes."""
    depth = 0
    for place in range(len(tokens) - 1, -1, -1):
        depth += tokens[place].is_symbol(")") - tokens[place].is_symbol("(")
        if depth == 0:
            return place
    return 0


def _is_name(token: Token) -> bool:
    return token.kind in (TokenKind.WORD, TokenKind.QUOTED)


_VALUES = (TokenKind.NUMBER, TokenKind.STRING)


def _when(cursor: Cursor) -> When:
    position = cursor.position
    kind = _kind(cursor)
    condition = cursor.expression("THEN") if cursor.accept("AND") else None
    cursor.expect("THEN")
    action, assigned = _action(cursor, kind)
    return When(kind, action, condition, assigned, position)


def _kind(cursor: Cursor) -> Kind:
    cursor.expect("WHEN")
    if cursor.accept("MATCHED"):
        return "matched"
    cursor.expect("NOT", "MATCHED")
    if cursor.accept("BY", "SOURCE"):
        return "not_matched_by_source"
    if cursor.accept("BY"):
        cursor.expect("TARGET")
    return "not_matched"


def _action(cursor: Cursor, kind: Kind) -> tuple[Action, tuple[Assigned, ...]]:
    if kind == "not_matched":
        cursor.expect("INSERT")
        return ("insert_all", ()) if cursor.accept_symbol("*") else ("insert", _inserted(cursor))
    if cursor.accept("DELETE"):
        return "delete", ()
    if not cursor.accept("UPDATE"):
        raise cursor.error(f"expected UPDATE or DELETE, found {cursor.token}")
    if kind == "matched" and cursor.accept_symbol("*"):
        return "update_all", ()
    cursor.expect("SET")
    if kind == "matched" and cursor.accept_symbol("*"):
        return "update_all", ()
    return "update", assignments(cursor, *_NEXT)


def _inserted(cursor: Cursor) -> tuple[Assigned, ...]:
    names = columns(cursor)
    cursor.expect("VALUES")
    opening = cursor.token
    cursor.expect_symbol("(")
    values = [cursor.expression(",")]
    while cursor.accept_symbol(","):
        values.append(cursor.expression(","))
    cursor.expect_symbol(")")
    if len(values) != len(names):
        message = f"there are {len(names)} columns, but {len(values)} values"
        raise cursor.error(message, opening)
    return tuple(
        Assigned(name, None if value.text.upper() == "DEFAULT" else value)
        for name, value in zip(names, values, strict=True)
    )
