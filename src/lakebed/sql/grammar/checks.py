"""CREATE TABLE with CHECK constraints, which Spark 4.0 does not parse."""

from __future__ import annotations

from lakebed.spec.properties import CONSTRAINT_PREFIX
from lakebed.sql.cursor import Cursor
from lakebed.sql.grammar.clone import new_table
from lakebed.sql.rest_statements import RestStatement
from lakebed.sql.statement import Slice, Statement


def parse_checks(cursor: Cursor) -> Statement | None:
    """None without any constraint."""
    new = new_table(cursor)
    if new is None or not cursor.accept_symbol("("):
        return None
    without: list[Slice] = []
    checks: dict[str, str] = {}
    is_first = True
    while True:
        start = cursor.position
        if _at_constraint(cursor):
            name, condition = _constraint(cursor)
            checks[CONSTRAINT_PREFIX + name.lower()] = condition.text
            without.append(Slice(cursor.sql[start : cursor.position], start))
        else:
            cursor.until(",")
            is_first = False
        comma = cursor.position
        if not cursor.accept_symbol(","):
            break
        if is_first or _at_constraint(cursor):
            without.append(Slice(",", comma))
    if not checks:
        return None
    return RestStatement(
        new[1], is_ours=True, kind="create", without=tuple(without), facts={"properties": checks}
    )


def _at_constraint(cursor: Cursor) -> bool:
    """A column may have such a name too, but is followed by a type."""
    named = cursor.at_any("CONSTRAINT") and cursor.peek(2).is_word("CHECK", "PRIMARY", "FOREIGN")
    keys = cursor.at("PRIMARY", "KEY") or cursor.at("FOREIGN", "KEY")
    return named or keys or (cursor.at_any("CHECK") and cursor.peek().is_symbol("("))


def _constraint(cursor: Cursor) -> tuple[str, Slice]:
    name = None
    if cursor.accept("CONSTRAINT"):
        name = cursor.identifier("the name of a constraint")
    if not cursor.accept("CHECK"):
        raise cursor.error(
            "Delta tables have no primary and foreign keys",
            hint="leave the constraint out; CHECK constraints are there",
        )
    if name is None:
        raise cursor.error("a CHECK constraint needs a name", hint="write CONSTRAINT name CHECK")
    condition = cursor.enclosed()
    cursor.accept("ENFORCED")
    return name, condition
