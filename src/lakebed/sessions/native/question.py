"""A question of Lakebed's Java classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession

JavaObject = Any


@dataclass(frozen=True)
class Question:
    """`request` has the values of the question, `given` the objects of Spark that go with it."""

    session: SparkSession
    request: Mapping[str, Any]
    given: JavaObject

    def frame(self, java: JavaObject) -> DataFrame:
        return DataFrame(java, self.session)

    @property
    def path(self) -> str:
        return str(self.request["path"])

    @property
    def options(self) -> dict[str, str]:
        return dict(self.request.get("options") or {})


def column(java: JavaObject) -> Column | None:
    return None if java is None else Column(java)


Answer = Callable[[Question], Any]
"""Gives a value that py4j can hand over; DataFrames go as they are."""
