"""Which statements inside of scripts and EXECUTE IMMEDIATE are Lakebed's, on Spark Connect."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from lakebed.errors import LakebedError
from lakebed.spark.session_catalog import find, sync_names
from lakebed.sql.context import SqlContext
from lakebed.sql.grammar.create import CloneTable, CreateLike, CreateTable, TableText
from lakebed.sql.grammar.drop import CreateSchema, DropSchema
from lakebed.sql.grammar.multi_insert import MultiInsert
from lakebed.sql.parameters import SqlLiteral, bind, has_marks, with_names
from lakebed.sql.parse import parse_statement
from lakebed.sql.run.create import new_table_place
from lakebed.sql.statement import Statement


class NestedStatements:
    def bind(self, request: Any) -> str:
        values = [SqlLiteral(value) for value in request["values"]]
        names = request["names"]
        # Names may come with values for question marks, of variables that are the values.
        by_name = {name: value for name, value in zip(names, values, strict=False) if name}
        return bind(
            request["text"], by_name if by_name and not has_marks(request["text"]) else values
        )

    def claims(self, session: SparkSession, text: str) -> bool:
        sync_names(session)
        named = with_names(text)
        statement = parse_statement(named)
        return statement is not None and _is_ours(SqlContext(session, named), statement)


def _is_ours(context: SqlContext, statement: Statement) -> bool:
    """As those who run them find out. Nothing is done, and mistakes come up when it is run."""
    session = context.session
    if isinstance(statement, CreateSchema | DropSchema):
        return True
    if isinstance(statement, CreateLike):
        source = find(session, statement.source.parts)
        provider = statement.text.provider or (source.provider if source is not None else None)
        return provider == "delta"
    if isinstance(statement, CreateTable | CloneTable):
        text = statement.text if isinstance(statement, CreateTable) else TableText("delta")
        try:
            return new_table_place(context, statement.table, text) is not None
        except LakebedError:
            return True
    if statement.is_ours:
        return True
    inserts = statement.inserts if isinstance(statement, MultiInsert) else (statement,)
    found = (find(session, each.table.parts) for each in inserts)
    return any(entry is not None and entry.is_delta for entry in found)
