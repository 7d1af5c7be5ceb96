"""MERGE with a source that Spark parses behind FROM alone: a function, a version, names of columns.

Spark parses the statement with the name of a table in the place of the source, which it parses as a
query.
"""

from __future__ import annotations

from lakebed.sql.cursor import Cursor
from lakebed.sql.rest_statements import RestStatement


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
