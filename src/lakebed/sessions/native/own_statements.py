"""Statements that Spark's parser does not know: OPTIMIZE, VACUUM, DESCRIBE HISTORY and others."""

from __future__ import annotations

import orjson
from pyspark.sql import DataFrame

from lakebed.sessions.native.question import Question
from lakebed.spark.catalog.session_catalog import find
from lakebed.sql.context import SqlContext
from lakebed.sql.execute import execute, result_schema
from lakebed.sql.grammar.copy_into import CopyStatement
from lakebed.sql.markers import Values, find_markers
from lakebed.sql.parse import own_statements, parse_own
from lakebed.sql.rest_statements import RestStatement, pieces
from lakebed.sql.statement import Statement


def parse(asked: Question) -> str:
    """Whether a statement is one of Lakebed's, and the columns of what it gives."""
    text = str(asked.request["text"])
    statement = parse_own(text)
    if statement is None or not _is_ours(asked, statement):
        return orjson.dumps({"known": False}).decode()
    if isinstance(statement, RestStatement):
        return orjson.dumps({"known": True, **pieces(text, statement)}).decode()
    # COPY INTO ... VALIDATE gives rows as they would be loaded.
    previews = isinstance(statement, CopyStatement) and statement.validate is not None
    schema = None if previews else result_schema(statement)
    found = [{"name": each.name, "position": each.position} for each in find_markers(text)]
    return orjson.dumps({"known": True, "schema": schema, "markers": found}).decode()


def script(asked: Question) -> str:
    """Which statements of a script are Lakebed's."""
    found = own_statements(str(asked.request["text"]))
    parts = [{"text": each.text, "position": each.position} for each in found]
    return orjson.dumps({"statements": parts}).decode()


def columns(asked: Question) -> str:
    """Those of a statement that loads nothing, but gives rows of files."""
    found = run(asked)
    return "" if found is None else str(found.schema.json())


def _is_ours(asked: Question, statement: Statement) -> bool:
    """Spark knows some of these statements for tables of other formats."""
    if statement.is_ours:
        return True
    entry = find(asked.session, statement.table.parts)
    return entry is not None and entry.is_delta


def run(asked: Question) -> DataFrame | None:
    text = str(asked.request["text"])
    values = Values(asked.session, find_markers(text), list(asked.given or ()))
    statement = parse_own(text, values.python_values)
    assert statement is not None
    return execute(SqlContext(asked.session, text, values=values), statement)
