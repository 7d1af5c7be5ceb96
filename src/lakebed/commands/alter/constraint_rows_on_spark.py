"""How many rows break a condition, counted by Spark."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.errors import AnalysisException

from lakebed.errors import InvalidArgumentError, LakebedError
from lakebed.expressions.allowed import ExpressionKind
from lakebed.log.snapshot import Snapshot
from lakebed.spark.columns.sql_expressions import table_expression
from lakebed.spark.plane.plane import Plane
from lakebed.spark.session.session_kind import functions_of


class CountOnSpark:
    """A `CountViolations` over a data plane of Spark."""

    def __init__(self, plane: Plane, options: Mapping[str, str]) -> None:
        self._plane = plane
        self._options = options

    def __call__(self, snapshot: Snapshot, name: str, condition: str) -> int:
        frame = self._plane.scan(snapshot, self._options)
        f = functions_of(frame)
        try:
            holds = table_expression(frame, condition, ExpressionKind.CHECK, name, snapshot.schema)
            wrong = frame.where(~f.coalesce(holds, f.lit(False)))
            return int(wrong.count())
        except LakebedError:
            # It is an AnalysisException too, and says what is wrong.
            raise
        except AnalysisException as error:
            raise InvalidArgumentError(
                f"{condition!r} is not a condition on the columns of the table: "
                f"{str(error).splitlines()[0]}",
                hint="give a SQL text that is true or false for each row, such as price > 0",
            ) from error
