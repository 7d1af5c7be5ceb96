"""What `spark.sql` does first on Spark Connect: statements about Delta tables come here."""

from __future__ import annotations

import logging
import re

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from lakebed.spark.enabled import is_enabled
from lakebed.spark.session_catalog import find, refresh_entry, sync_names
from lakebed.sql.context import SqlContext
from lakebed.sql.execute import execute
from lakebed.sql.grammar import alter, create
from lakebed.sql.immediate import run_immediate
from lakebed.sql.parameters import Arguments, bind, with_names
from lakebed.sql.parse import GRAMMARS, first_word, is_script, parse_statement
from lakebed.sql.plain import plain_sql
from lakebed.sql.query import any_query, delta_query
from lakebed.sql.script.run import run_script
from lakebed.sql.statement import Statement

_LOG = logging.getLogger("lakebed")


def run_sql(session: SparkSession, text: str, args: Arguments = None) -> DataFrame | None:
    """None if Spark is to run it: then nothing is done."""
    sync_names(session)
    word = first_word(text)
    if word in _LEFT_TO_SPARK and word not in GRAMMARS and not _SET_VARIABLE.search(text):
        return None
    if word in GRAMMARS and is_enabled(session):
        found = _run_statement(session, text, args)
        if found is not None:
            return found
    if (word == "EXECUTE" or is_script(text)) and is_enabled(session):
        return _run_nested(session, text, args)
    return delta_query(session, text, args) if args else any_query(session, text)


_LEFT_TO_SPARK = frozenset({"SET", "RESET", "USE", "SHOW", "ADD", "LIST", "DROP", "ALTER"})
"""Statements that read no table, by their first words."""
_SET_VARIABLE = re.compile(r"\bSET\s+VAR(IABLE)?\b", re.IGNORECASE)
"""Its value may be a query."""


def _run_nested(session: SparkSession, text: str, args: Arguments) -> DataFrame | None:
    """EXECUTE IMMEDIATE and scripts, which the client runs: the server does not reach Lakebed."""

    def run(inner: str) -> DataFrame:
        return _run(session, inner)

    if first_word(text) == "EXECUTE":
        return run_immediate(session, text, args, run)
    return run_script(session, text, args, run)


def _run_statement(session: SparkSession, text: str, args: Arguments) -> DataFrame | None:
    bound = with_names(bind(text, args))
    statement = parse_statement(bound)
    if statement is None:
        return None
    found = execute(SqlContext(session, bound, args or {}), statement)
    if found is not None and isinstance(statement, _COLUMNS_CHANGE):
        _tell_catalog(session, statement)
    return found


_COLUMNS_CHANGE = (
    alter.AddColumns,
    alter.AlterColumns,
    alter.DropColumns,
    alter.RenameColumn,
    alter.ReplaceColumns,
    create.CloneTable,
    create.CreateTable,
)


def _tell_catalog(session: SparkSession, statement: Statement) -> None:
    """What cannot be told is found out by those who ask the server for the table."""
    entry = find(session, statement.table.parts)
    if entry is None or not entry.is_delta:
        return
    try:
        refresh_entry(session, entry)
    except PySparkException as error:
        # The statement itself has done its work.
        _LOG.warning("the server's catalog has old columns of %s: %s", entry.name, error)


def _run(session: SparkSession, text: str) -> DataFrame:
    found = run_sql(session, text)
    return plain_sql(session, text) if found is None else found
