"""What `spark.sql` does first in an enabled session: statements about Delta tables come here."""

from __future__ import annotations

import re

from pyspark.sql import DataFrame, SparkSession

from lakebed.spark.enabled import is_enabled
from lakebed.spark.functions import is_connect
from lakebed.spark.session_catalog import sync_names
from lakebed.sql.context import SqlContext
from lakebed.sql.execute import execute
from lakebed.sql.nested import run_immediate, run_script
from lakebed.sql.parameters import Arguments, bind, with_names
from lakebed.sql.parse import GRAMMARS, first_word, is_script, parse_statement
from lakebed.sql.query import any_query, delta_query


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
    if (word == "EXECUTE" or is_script(text)) and is_enabled(session) and not is_connect(session):
        return (run_immediate if word == "EXECUTE" else run_script)(session, text, args)
    return delta_query(session, text, args) if args else any_query(session, text)


_LEFT_TO_SPARK = frozenset({"SET", "RESET", "USE", "SHOW", "ADD", "LIST", "DROP", "ALTER"})
"""Statements that read no table, by their first words."""
_SET_VARIABLE = re.compile(r"\bSET\s+VAR(IABLE)?\b", re.IGNORECASE)
"""Its value may be a query."""


def _run_statement(session: SparkSession, text: str, args: Arguments) -> DataFrame | None:
    bound = with_names(bind(text, args))
    statement = parse_statement(bound)
    if statement is None:
        return None
    return execute(SqlContext(session, bound, args or {}), statement)
