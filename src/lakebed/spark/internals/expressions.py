"""SQL expressions, parsed by Spark without anything put in the place of variables.

Tests are in `test_table_expressions`.
"""

from __future__ import annotations

from typing import Any

import orjson
from pyspark.sql import Column, SparkSession

from lakebed.expressions.allowed import Parts
from lakebed.spark.internals.classes import load_classes


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
    load_classes(gateway, str(session.version))
    return gateway.jvm.lakebed.TableExpressions
