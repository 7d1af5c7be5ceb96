"""Conditions of commands on rows: which of them can be used, and how the history shows them."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame

from lakebed.errors import InvalidArgumentError
from lakebed.expressions import Expression
from lakebed.spark.session.session_kind import is_connect
from lakebed.spec.schema import StructType


def described(condition: str | Column | None) -> list[str]:
    """As `operationParameters` have it: a list with one text, or an empty one."""
    if condition is None:
        return []
    if isinstance(condition, str):
        return [f"({condition})"]
    # What a column prints is its expression between `Column<'` and `'>`.
    return [str(condition)[len("Column<'") : -len("'>")]]


def known_predicate(filtered: DataFrame, schema: StructType) -> Expression | None:
    """What Spark's condition on top of `filtered` says, as far as Lakebed understands it.

    It is true for all rows that the condition is true for. `schema` has the columns of the frame.
    """
    if is_connect(filtered):
        return None
    from lakebed.spark.internals.jvm import Jvm
    from lakebed.spark.internals.plans import top_condition
    from lakebed.spark.native.filters import FilterReader

    reader = FilterReader(Jvm.of(filtered.sparkSession), schema, "none")
    return reader.read(top_condition(filtered)).expression


def check_condition(filtered: DataFrame, command: str) -> None:
    """Refuses a condition that may be true for other rows when it is asked again.

    `filtered` has the condition on top. On Spark Connect nobody can tell: there the rows are
    counted twice and the command fails if the counts differ.
    """
    if is_connect(filtered):
        return
    from lakebed.spark.internals.plans import is_deterministic

    if not is_deterministic(filtered):
        raise InvalidArgumentError(
            f"the condition of {command} gives another result each time it is asked",
            hint="leave out rand(), uuid() and functions like them",
        )
