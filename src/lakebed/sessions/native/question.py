"""What Lakebed's Java classes ask of Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession

from lakebed.errors import InvalidArgumentError

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
        """Where the table is; an error if the user named none, or several."""
        found = self.request["path"]
        if found is None or "paths" in self.options:
            given = self.options.get("paths", found)
            raise InvalidArgumentError(
                f"{given!r} is not the path of a table",
                hint="give the path of one table, such as load('/data/orders')",
            )
        return str(found)

    @property
    def options(self) -> dict[str, str]:
        return dict(self.request.get("options") or {})


def column(java: JavaObject) -> Column | None:
    return None if java is None else Column(java)


Answer = Callable[[Question], Any]
"""Returns a value that py4j can pass on, or a DataFrame."""
