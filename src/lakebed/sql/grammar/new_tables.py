"""CREATE TABLE as Spark does not parse it: CLONE, and CHECK constraints, unknown to Spark 4.0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lakebed.commands.create.create_modes import CREATE, IF_NOT_EXISTS, OR_REPLACE, REPLACE
from lakebed.spec.properties import CONSTRAINT_PREFIX
from lakebed.sql.cursor import Cursor
from lakebed.sql.grammar.property_lists import properties
from lakebed.sql.rest_statements import RestStatement
from lakebed.sql.statement import AsOf, Slice, Statement, TableRef


@dataclass(frozen=True, kw_only=True)
class CloneTable(Statement):
    mode: str = CREATE
    source: TableRef
    as_of: AsOf | None = None
    is_shallow: bool = False
    location: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


def parse_clone(cursor: Cursor) -> Statement | None:
    """None for all other tables."""
    new = new_table(cursor)
    if new is None:
        return None
    mode, table = new
    kind = cursor.accept_any("SHALLOW", "DEEP")
    if not cursor.accept("CLONE"):
        return None
    source = cursor.table()
    as_of = _as_of(cursor)
    location, given = None, None
    while not cursor.is_at_end:
        if location is None and cursor.accept("LOCATION"):
            location = cursor.string("a location")
        elif given is None and cursor.accept("TBLPROPERTIES"):
            given = properties(cursor)
        else:
            raise cursor.error(
                f"unexpected {cursor.token}", hint="CLONE takes LOCATION and TBLPROPERTIES"
            )
    return CloneTable(
        table,
        True,
        mode=mode,
        source=source,
        as_of=as_of,
        is_shallow=kind == "SHALLOW",
        location=location,
        properties=given or {},
    )


def new_table(cursor: Cursor) -> tuple[str, TableRef] | None:
    """How CREATE and REPLACE TABLE begin. Spark shows what is wrong with another beginning."""
    mode = _mode(cursor)
    is_named = cursor.at_name or cursor.at_marker
    return None if mode is None or not is_named else (mode, cursor.table())


def _mode(cursor: Cursor) -> str | None:
    if cursor.accept("REPLACE", "TABLE"):
        return REPLACE
    if cursor.accept("CREATE", "OR", "REPLACE", "TABLE"):
        return OR_REPLACE
    if not cursor.accept("CREATE", "TABLE"):
        return None
    return IF_NOT_EXISTS if cursor.accept("IF", "NOT", "EXISTS") else CREATE


def _as_of(cursor: Cursor) -> AsOf | None:
    """A time ends where the clauses of the new table begin."""
    mark = cursor.mark()
    cursor.accept("FOR")
    if not (cursor.accept("TIMESTAMP", "AS", "OF") or cursor.accept("SYSTEM_TIME", "AS", "OF")):
        cursor.reset(mark)
        return cursor.as_of()
    return AsOf(timestamp=cursor.expression("TBLPROPERTIES", "LOCATION"))


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
