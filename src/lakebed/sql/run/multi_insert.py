"""FROM ... INSERT ... INSERT ...: one commit for each table, in the order of the statement."""

from __future__ import annotations

from pyspark.sql import DataFrame

from lakebed.errors import SqlError
from lakebed.spark.command_reads import CommandReads
from lakebed.sql.context import SqlContext
from lakebed.sql.grammar.multi_insert import MultiInsert
from lakebed.sql.run.insert import Insert
from lakebed.sql.tables import open_table


def run_multi_insert(context: SqlContext, statement: MultiInsert) -> DataFrame | None:
    """All queries are there before anything is written, and see the same version of the source."""
    tables = [open_table(context, each) for each in statement.inserts]
    if all(table is None for table in tables):
        return None
    inserts = []
    for each, table in zip(statement.inserts, tables, strict=True):
        if table is None:
            raise SqlError(
                "one statement inserts either into Delta tables alone, or into none",
                sql=context.sql,
                position=each.table.position,
                hint="give the others a statement of their own",
            )
        inserts.append(Insert(context, each, table, statement.source))
    reads = CommandReads(None, lambda *_: None)
    for insert in inserts:
        insert.pin_sources(reads)
    for insert in inserts:
        insert.run()
    return context.empty()
