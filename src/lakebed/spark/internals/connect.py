"""The Python client of Spark Connect.

Imported only where a session is one of Spark Connect: the client needs packages that a classic
application may not have.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql.connect import plan
from pyspark.sql.connect.client import core
from pyspark.sql.connect.dataframe import DataFrame
from pyspark.sql.connect.readwriter import DataFrameReader, DataFrameWriter
from pyspark.sql.connect.session import SparkSession
from pyspark.sql.types import StructType

from lakebed.errors import LakebedError
from lakebed.spark.carried_errors import find_carried
from lakebed.spark.rule_errors import broken_rule

__all__ = ["DataFrameReader", "FrameWriter", "convert_errors", "replace_reader", "replace_writer"]


class FrameWriter(DataFrameWriter):
    """The writer of a DataFrame, made of the DataFrame itself as the classic one is."""

    def __init__(self, frame: Any) -> None:
        plain = _plain_writer(frame)
        super().__init__(plain._df, plain._spark, plain._callback)


def replace_reader(make: Callable[[Any], Any | None]) -> None:
    """Makes `SparkSession.read` give what `make` gives, or Spark's own reader if that is None."""
    original = SparkSession.read.fget

    def read(self: Any) -> Any:
        made = make(self)
        return original(self) if made is None else made

    read.__doc__ = original.__doc__
    SparkSession.read = property(read)


def replace_writer(make: Callable[[Any], Any | None]) -> None:
    """The same for `DataFrame.write`."""

    def write(self: Any) -> Any:
        made = make(self)
        return _plain_writer(self) if made is None else made

    write.__doc__ = DataFrame.write.__doc__
    DataFrame.write = property(write)


def replace_sql(run: Callable[[Any, str, Any, Callable[[], Any]], Any]) -> None:
    """Makes `SparkSession.sql` give what `run` gives; its last parameter is how Spark runs it."""
    original = SparkSession.sql

    def sql(self: Any, sqlQuery: Any, args: Any = None, **kwargs: Any) -> Any:
        def plain() -> Any:
            return original(self, sqlQuery, args, **kwargs)

        # What has DataFrames in it is for Spark to format: they travel with the statement.
        return plain() if kwargs else run(self, sqlQuery, args, plain)

    sql.__doc__ = original.__doc__
    SparkSession.sql = sql


def amend_error(error: AnalysisException, text: str) -> None:
    """Adds a line to the message of an error of Spark's."""
    error._message = f"{error._message}\n{text}"


def plain_sql(
    session: Any, text: str, args: Any = None, frames: Mapping[str, Any] | None = None
) -> Any:
    """Spark's own `SparkSession.sql`."""
    return _plain_sql(session, text, args, **(frames or {}))


def create_table(
    session: Any, name: str, schema: Mapping[str, Any], location: str | None, comment: str | None
) -> None:
    """CREATE TABLE ... USING delta; SQL could not give the columns notes of their own."""
    made = plan.CreateTable(
        table_name=name,
        path=location,
        source="delta",
        schema=StructType.fromJson(dict(schema)),
        description=comment,
        options={},
    )
    # What it gives is the table itself, which need not be there yet: no row of it is asked for.
    DataFrame(made, session=session).limit(0)._to_table()


def before_temporary_views(do: Callable[[Any, str], None]) -> None:
    """Calls `do` with the session and the name before a DataFrame becomes a temporary view."""
    for method in ("createTempView", "createOrReplaceTempView"):
        setattr(DataFrame, method, _telling(getattr(DataFrame, method), do))


def _telling(original: Callable[..., Any], do: Callable[[Any, str], None]) -> Callable[..., Any]:
    @wraps(original)
    def method(self: Any, name: str) -> Any:
        do(self.sparkSession, name)
        return original(self, name)

    return method


def on_analysis_error(session: Any, do: Callable[[Any, AnalysisException], None]) -> None:
    """Calls `do` with the session and each such error that the server sends it."""
    client = session._client
    if _WATCHED in vars(client):
        return
    vars(client)[_WATCHED] = True
    original, known = client._handle_rpc_error, weakref.ref(session)
    busy = threading.local()

    def handle(error: Any) -> Any:
        try:
            return original(error)
        except AnalysisException as found:
            owner = known()
            # What `do` asks the server may fail in its turn.
            if owner is not None and not getattr(busy, "is_set", False):
                busy.is_set = True
                try:
                    do(owner, found)
                finally:
                    busy.is_set = False
            raise

    client._handle_rpc_error = handle


_WATCHED = "_lakebed_watched"


def convert_errors() -> None:
    """Raises the error that a worker sent instead of the exception that has it in its message."""
    original = core.convert_exception

    def convert_exception(info: Any, message: str, details: Any, *more: Any, **named: Any) -> Any:
        found = _carried(message, details)
        return original(info, message, details, *more, **named) if found is None else found

    core.convert_exception = convert_exception


_plain_sql = SparkSession.sql
_plain_writer = DataFrame.write.fget


def _carried(message: str, details: Any) -> LakebedError | None:
    """The message may be cut; the details have those of all causes whole."""
    texts = [message, *(each.message for each in (details.errors if details is not None else ()))]
    found = (find_carried(text) or broken_rule(text) for text in texts)
    return next((each for each in found if each is not None), None)
