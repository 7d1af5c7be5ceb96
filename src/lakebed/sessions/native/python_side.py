"""Classic sessions that know Delta tables, and the Python side of Lakebed's Java classes.

One object for a JVM answers the requests of all its sessions.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from typing import Any

import orjson
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession

from lakebed.errors import LakebedError
from lakebed.sessions.native.question import Answer, JavaObject, Question
from lakebed.sessions.native.repeated_calls import ANSWERS as CALLS
from lakebed.spark.catalog.session_catalog import catalog_of
from lakebed.spark.errors import jvm_errors
from lakebed.spark.errors.pyspark_kinds import raise_as_pyspark
from lakebed.spark.internals import jvm
from lakebed.spark.internals.jvm import Jvm
from lakebed.spark.internals.startup.bridge import connect, java_value, session_named, set_up
from lakebed.spark.internals.startup.rules import METADATA_ONLY, install_rule
from lakebed.spec.columns.column_names import split_name


def enable_native(spark: SparkSession) -> None:
    """Java classes, callbacks, rules and catalog. Enabling a session twice does no harm."""
    answer_for(spark)
    set_up(spark)


def answer_for(spark: SparkSession) -> None:
    """Lets this process answer the requests of the session's JVM."""
    raise_as_pyspark()
    jvm_errors.install(_suggest_names)
    connect(spark, lambda: PythonSide(spark))


_ROOM = "lakebed.sessions.native"
ANSWERS: Mapping[str, tuple[str, str]] = {
    "read": ("read_plans", "read"),
    "describe": ("read_plans", "describe"),
    "exists": ("read_plans", "exists"),
    "sync": ("read_plans", "sync"),
    "table_changes": ("read_plans", "table_changes"),
    "save": ("writes", "save_rows"),
    "insert": ("writes", "insert"),
    "insert_many": ("writes", "insert_many"),
    "replace_on": ("replaced_rows", "replace_on"),
    "check_default": ("writes", "check_default"),
    "delete": ("row_changes", "delete"),
    "update": ("row_changes", "update"),
    "merge": ("row_changes", "merge"),
    "truncate": ("row_changes", "truncate"),
    "create": ("create_statements", "create"),
    "create_like": ("create_statements", "create_like"),
    "alter": ("alter_table", "alter"),
    "add_check": ("alter_table", "add_check"),
    "unset_properties": ("alter_table", "unset"),
    "drop": ("catalog_changes", "drop"),
    "rename": ("catalog_changes", "rename"),
    "create_schema": ("catalog_changes", "create_schema"),
    "drop_schema": ("catalog_changes", "drop_schema"),
    "parse": ("own_statements", "parse"),
    "script": ("own_statements", "script"),
    "columns": ("own_statements", "columns"),
    "run": ("own_statements", "run"),
    "show_create": ("show", "show_create"),
    "show_columns": ("show", "show_columns"),
    "show_partitions": ("show", "show_partitions"),
    "stream_schema": ("streams", "stream_schema"),
    "open_stream": ("streams", "open_stream"),
    "check_sink": ("stream_sink", "check_sink"),
    "add_batch": ("stream_sink", "add_batch"),
    "call": ("client_calls", "call"),
}
"""By the names that the Java classes use: a module of this room, and a function.

A module is imported with its first question. All of them together take longer than everything else
that enabling a session does.
"""


@cache
def answer_of(what: str) -> Answer:
    module, name = ANSWERS[what]
    found: Answer = getattr(import_module(f"{_ROOM}.{module}"), name)
    return found


class PythonSide:
    """Called by `Bridge.java`, in the thread of Spark that needs the answer."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._sessions: OrderedDict[str, SparkSession] = OrderedDict()
        self._lock = threading.Lock()

    def answer(self, what: str, request: str, name: str, given: JavaObject) -> Any:
        with jvm_errors.reported_to(Jvm.of(self._session)):
            CALLS.forget()
            asked = Question(self._known(name), orjson.loads(request), given)
            return java_value(answer_of(what)(asked))

    def _known(self, name: str) -> SparkSession:
        """PySpark's object for a session; clients of Spark Connect come and go."""
        with self._lock:
            found = self._sessions.get(name)
            if found is None:
                found = session_named(name, self._session)
                install_rule(found, METADATA_ONLY)
                self._sessions[name] = found
            self._sessions.move_to_end(name)
            while len(self._sessions) > _MOST:
                self._sessions.popitem(last=False)
            return found

    def toString(self) -> str:
        return "Lakebed's Python side"

    class Java:
        implements = ("lakebed.bridge.PythonSide",)


def _suggest_names(error: Exception) -> None:
    """Adds names of tables to Spark's error about one that is not there."""
    session = SparkSession.getActiveSession()
    if session is None or not isinstance(error, AnalysisException):
        return
    name = (error.getMessageParameters() or {}).get("relationName")
    if name is None or error.getCondition() != _MISSING:
        return
    try:
        near = _near(session, split_name(name))
    except (LakebedError, PySparkException):
        # Spark's error says the most important part.
        return
    if near:
        jvm.amend_error(error, f"did you mean {' or '.join(near)}?")


def _near(session: SparkSession, parts: list[str]) -> list[str]:
    catalog = catalog_of(session)
    database = parts[-2] if len(parts) > 1 else catalog.current_database()
    known = {each.lower(): each for each in catalog.databases()}
    if database.lower() not in known:
        return get_close_matches(database, list(known.values()), n=3)
    prefix = f"{database}." if len(parts) > 1 else ""
    tables = {each.lower(): each for each in catalog.tables(database)}
    found = get_close_matches(parts[-1].lower(), tables, n=3)
    return [f"{prefix}{tables[each]}" for each in found]


_MISSING = "TABLE_OR_VIEW_NOT_FOUND"
_MOST = 32
"""Sessions that are remembered; others are asked for again when they come back."""
