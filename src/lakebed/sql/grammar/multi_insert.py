"""FROM ... INSERT ... INSERT ...: rows of one source into several tables."""

from __future__ import annotations

from dataclasses import dataclass

from lakebed.sql.cursor import Cursor
from lakebed.sql.grammar.insert import InsertStatement, parse_insert
from lakebed.sql.statement import Slice, Statement


@dataclass(frozen=True, kw_only=True)
class MultiInsert(Statement):
    """`source` is the FROM clause. The query of each insert lacks it. `table` is the first one."""

    source: Slice
    inserts: tuple[InsertStatement, ...]


def parse_from(cursor: Cursor, ctes: Slice | None = None) -> Statement | None:
    """None for queries."""
    source = cursor.until("INSERT")
    inserts = []
    while cursor.at_any("INSERT"):
        found = parse_insert(cursor, ctes, stop="INSERT")
        if found is None:
            return None
        inserts.append(found)
    if not inserts:
        return None
    cursor.expect_end()
    return MultiInsert(inserts[0].table, source=source, inserts=tuple(inserts))
