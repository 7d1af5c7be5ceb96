"""Queries of classic sessions: Spark's parser finds the tables, native relations replace them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from lakebed.errors import SqlError
from lakebed.spark.internals.sql_plans import SqlPlan, find_in_text, find_table
from lakebed.spark.read_request import ReadRequest
from lakebed.sql.parameters import Arguments, bind, with_names


def delta_query(session: SparkSession, text: str, args: Arguments) -> DataFrame | None:
    """What `spark.sql` gives; None if the text names no Delta table, and nothing is done."""
    named = with_names(bind(text, args) if args and _IN_NAMES in text.lower() else text)
    plan = find_in_text(session, named)
    if plan is not None and args:
        plan = find_in_text(session, with_names(bind(text, args)))
    return None if plan is None else _opened(plan, text)


def delta_table(session: SparkSession, name: str, options: Mapping[str, str]) -> DataFrame | None:
    plan = find_table(session, name, options)
    return None if plan is None else _opened(plan, name)


_IN_NAMES = "identifier"


def _opened(plan: SqlPlan, text: str) -> DataFrame:
    """All references to a table in a statement see the same version of it."""
    opened: dict[str, DataFrame] = {}
    frames = []
    for reference in plan.references:
        key = repr({name: reference[name] for name in sorted(reference) if name != "position"})
        if key not in opened:
            opened[key] = _open(plan.session, reference, text)
        frames.append(opened[key])
    return plan.frame(frames)


def _open(session: SparkSession, reference: Mapping[str, Any], text: str) -> DataFrame:
    request = ReadRequest()
    for key, value in reference["options"].items():
        request.set(key, value)
    for key, option in (("version", "versionAsOf"), ("timestamp", "timestampAsOf")):
        value = reference.get(key)
        if value is None:
            continue
        if request.get("versionAsOf") or request.get("timestampAsOf"):
            raise SqlError(
                "two versions of the table are asked for",
                sql=text,
                position=reference["position"],
                hint="leave out one of them",
            )
        request.set(option, value)
    return request.load(session, reference.get("path") or reference["location"])
