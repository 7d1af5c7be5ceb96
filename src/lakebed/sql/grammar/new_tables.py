"""CREATE TABLE ... CLONE."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lakebed.commands.create.named_modes import CREATE, IF_NOT_EXISTS, OR_REPLACE, REPLACE
from lakebed.sql.cursor import Cursor
from lakebed.sql.grammar.property_lists import properties
from lakebed.sql.statement import AsOf, Statement, TableRef


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
