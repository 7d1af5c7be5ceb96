"""What stands behind DECLARE in scripts: variables, conditions, and what handlers catch."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from lakebed.expressions.tokens import Kind
from lakebed.sql.cursor import Cursor
from lakebed.sql.script.pieces import no_cursors, statement
from lakebed.sql.script.tree import Block, Declare, Handler
from lakebed.sql.statement import Slice

_STATE = re.compile(r"[A-Z0-9]{5}")
_ANY_ERROR = "45000"
"""The SQLSTATE of conditions that are given none."""


def at_handler(cursor: Cursor) -> bool:
    return cursor.peek(1).is_word("CONTINUE", "EXIT") and cursor.peek(2).is_word("HANDLER")


def at_condition(cursor: Cursor) -> bool:
    return cursor.peek(2).is_word("CONDITION")


def parse_variables(cursor: Cursor) -> Declare:
    """DECLARE [OR REPLACE] [VARIABLE] name [, ...] [type] [DEFAULT value | = value]."""
    whole = _whole(cursor)
    cursor.expect("DECLARE")
    if cursor.peek().is_word("CURSOR") or cursor.peek(2).is_word("CURSOR"):
        raise no_cursors(cursor)
    replaces = cursor.accept("OR", "REPLACE")
    after = cursor.peek()
    if cursor.at_any("VAR", "VARIABLE") and after.kind in (Kind.WORD, Kind.QUOTED):
        cursor.next()
    names = [cursor.parts("the name of a variable")]
    while cursor.accept_symbol(","):
        names.append(cursor.parts("the name of a variable"))
    kind = _type(cursor)
    has_default = cursor.accept("DEFAULT") or cursor.accept_symbol("=")
    default = statement(cursor) if has_default else None
    return Declare(tuple(names), kind, default, replaces, whole)


def parse_condition(cursor: Cursor, known: dict[str, str]) -> None:
    """DECLARE name CONDITION [FOR SQLSTATE [VALUE] 'state']."""
    cursor.expect("DECLARE")
    token = cursor.token
    name = cursor.identifier("the name of a condition").upper()
    if name in known:
        raise cursor.error(f"the condition {token.text} is declared already", token)
    cursor.expect("CONDITION")
    known[name] = _ANY_ERROR
    if cursor.accept("FOR"):
        cursor.expect("SQLSTATE")
        known[name] = _state(cursor)


@dataclass
class Triggers:
    """What a handler catches, and whether it ends its block."""

    is_exit: bool
    states: set[str] = field(default_factory=set)
    conditions: set[str] = field(default_factory=set)
    errors: bool = False
    not_found: bool = False

    def handler(self, body: Block) -> Handler:
        states, conditions = frozenset(self.states), frozenset(self.conditions)
        return Handler(self.is_exit, states, conditions, self.errors, self.not_found, body)


def parse_triggers(cursor: Cursor) -> Triggers:
    """DECLARE {EXIT | CONTINUE} HANDLER FOR and what it catches."""
    cursor.expect("DECLARE")
    found = Triggers(is_exit=cursor.accept_any("EXIT", "CONTINUE") == "EXIT")
    cursor.expect("HANDLER", "FOR")
    start = cursor.token
    _trigger(cursor, found)
    while cursor.accept_symbol(","):
        _trigger(cursor, found)
    if (found.errors or found.not_found) and (found.states or found.conditions):
        raise cursor.error("SQLEXCEPTION and NOT FOUND stand alone in a handler", start)
    return found


def _trigger(cursor: Cursor, found: Triggers) -> None:
    token = cursor.token
    if cursor.accept("SQLSTATE"):
        is_new, state = _added(found.states, _state(cursor)), "SQLSTATE"
    elif cursor.accept("SQLEXCEPTION"):
        is_new, state, found.errors = not found.errors, "SQLEXCEPTION", True
    elif cursor.accept("NOT", "FOUND"):
        is_new, state, found.not_found = not found.not_found, "NOT FOUND", True
    else:
        name = ".".join(cursor.parts("what the handler catches")).upper()
        is_new, state = _added(found.conditions, name), name
    if not is_new:
        raise cursor.error(f"the handler names {state} twice", token)


def _added(known: set[str], value: str) -> bool:
    is_new = value not in known
    known.add(value)
    return is_new


def _state(cursor: Cursor) -> str:
    cursor.accept("VALUE")
    token = cursor.token
    state = cursor.string("a SQLSTATE").upper()
    if not _STATE.fullmatch(state) or state[:2] in ("00", "01", "XX"):
        raise cursor.error(f"{state!r} is not the SQLSTATE of an error", token)
    return state


def _whole(cursor: Cursor) -> Slice:
    mark = cursor.mark()
    found = statement(cursor)
    cursor.reset(mark)
    return found


def _type(cursor: Cursor) -> Slice | None:
    """Up to the value. Fields of structs may be called DEFAULT."""
    start = last = cursor.position
    depth = 0
    while cursor.token.kind is not Kind.END and not cursor.at_symbol(";"):
        token = cursor.token
        if depth == 0 and (token.is_word("DEFAULT") or token.is_symbol("=")):
            break
        if token.kind is Kind.SYMBOL:
            depth += {"<": 1, "(": 1, ">": -1, ")": -1}.get(token.text, 0)
        last = cursor.next().end
    return None if last == start else Slice(cursor.sql[start:last], start)
