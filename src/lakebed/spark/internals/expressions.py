"""SQL expressions, parsed by Spark without anything put in the place of variables.

Tests are in `test_table_expressions`.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import orjson
from py4j.java_gateway import JavaClass
from pyspark.sql import Column, SparkSession

from lakebed.expressions.allowed import Parts
from lakebed.spark.internals.session.classes import load_classes


def parsed_column(session: SparkSession, sql: str) -> Column:
    return Column(_java(session).column(sql))


def parts_of(session: SparkSession, sql: str) -> Parts:
    found = orjson.loads(_java(session).parts(session._jsparkSession, sql))
    return Parts(
        [tuple(name) for name in found["functions"]],
        [tuple(name) for name in found["names"]],
        frozenset(found["replaced"]),
        found["others"],
    )


def _java(session: SparkSession) -> Any:
    gateway: Any = session.sparkContext._gateway
    known = vars(gateway)
    if _KEPT not in known:
        load_classes(gateway, str(session.version))
        found = JavaClass("lakebed.TableExpressions", gateway._gateway_client)
        # py4j would look up a method each time.
        known[_KEPT] = SimpleNamespace(column=found.column, parts=found.parts)
    return known[_KEPT]


_KEPT = "_lakebed_table_expressions"
