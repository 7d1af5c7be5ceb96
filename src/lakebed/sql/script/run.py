"""Scripts on Spark Connect: which the client runs, and which it leaves to the server."""

from __future__ import annotations

import threading

from pyspark.sql import DataFrame, SparkSession

from lakebed.errors import LakebedError, SqlTextError
from lakebed.sql.concerns import concerns_delta
from lakebed.sql.parameters import Arguments, bind, with_names
from lakebed.sql.parse import first_word
from lakebed.sql.script.check import check_script, check_text
from lakebed.sql.script.grammar import parse_script
from lakebed.sql.script.interpreter import Interpreter
from lakebed.sql.script.pieces import likely_statements
from lakebed.sql.script.statements import Run
from lakebed.sql.script.tree import Block, For, Plain, SetVariables, expressions, nodes

_LOCK = "_lakebed_script_lock"


def run_script(session: SparkSession, text: str, args: Arguments, run: Run) -> DataFrame | None:
    """None if the server is to run it, and nothing is done: it is not about Delta tables."""
    try:
        bound = with_names(bind(text, args))
        script = parse_script(bound)
    except LakebedError:
        if not any(_concerns(session, each) for each in likely_statements(text)):
            return None
        if not args:
            # The server's parser has more to say about it, if it cannot read it either.
            check_text(session, with_names(text))
        raise
    if not any(_concerns(session, each) for each in _texts(script)):
        return None
    # Scripts share the names of variables, which belong to the session.
    with vars(session).setdefault(_LOCK, threading.RLock()):
        check_script(session, bound, script)
        return Interpreter(session, run).run(script)


def _concerns(session: SparkSession, text: str) -> bool:
    """Whether a part of a script names a Delta table, or may make or read one."""
    try:
        return first_word(text) == "EXECUTE" or concerns_delta(session, text)
    except SqlTextError:
        # Not a statement, or one with a mistake: Spark tells which.
        return False


def _texts(script: Block) -> list[str]:
    found: dict[str, None] = {}
    for node in nodes(script):
        if isinstance(node, Plain):
            found[node.text.text] = None
        elif isinstance(node, For):
            found[node.query.text] = None
        elif isinstance(node, SetVariables):
            found[f"SET VAR {node.text}"] = None
        found |= {f"SELECT ({each})": None for each in expressions(node)}
    return list(found)
