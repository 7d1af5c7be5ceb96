"""Queries of classic sessions: Spark's parser finds the tables, native relations replace them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from lakebed.spark.internals.sql_plans import SqlPlan, find_in_text, find_table, run_or_find
from lakebed.sql.delta_reads import read_of
from lakebed.sql.parameters import Arguments, bind, with_names


def delta_query(session: SparkSession, text: str, args: Arguments) -> DataFrame | None:
    """What `spark.sql` gives; None if the text names no Delta table, and nothing is done."""
    named = with_names(bind(text, args) if args and _BOUND_FIRST.search(text) else text)
    plan = find_in_text(session, named)
    if plan is not None and args:
        plan = find_in_text(session, with_names(bind(text, args)))
    return None if plan is None else _opened(plan, text)


def any_query(session: SparkSession, text: str) -> DataFrame:
    """What `spark.sql` gives, whether the text names a Delta table or not."""
    named = with_names(text)
    found = run_or_find(session, named)
    return _opened(found, text) if isinstance(found, SqlPlan) else found


def delta_table(session: SparkSession, name: str, options: Mapping[str, str]) -> DataFrame | None:
    plan = find_table(session, name, options)
    return None if plan is None else _opened(plan, name)


_BOUND_FIRST = re.compile(r"\b(identifier|table_changes\w*|AS\s+OF)\b", re.IGNORECASE)
"""Where a parameter may say which table it is, or which version."""


def _opened(plan: SqlPlan, text: str) -> DataFrame:
    """All references to a table in a statement see the same version of it."""
    opened: dict[str, DataFrame] = {}
    frames = []
    for reference in plan.references:
        read = read_of(reference)
        if repr(read) not in opened:
            opened[repr(read)] = read.frame(plan.session, text, reference["position"])
        frames.append(opened[repr(read)])
    return plan.frame(frames)
