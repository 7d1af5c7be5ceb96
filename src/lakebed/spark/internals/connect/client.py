"""The Python client of Spark Connect.

Imported only where a session is one of Spark Connect: the client needs packages that a classic
application may not have.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql.connect.client import core
from pyspark.sql.connect.dataframe import DataFrame
from pyspark.sql.connect.readwriter import DataFrameReader, DataFrameWriter
from pyspark.sql.connect.session import SparkSession

from lakebed.errors import LakebedError
from lakebed.spark.session.carried_errors import find_carried
from lakebed.spark.session.rule_errors import broken_rule

__all__ = [
    "DataFrameReader",
    "FrameWriter",
    "convert_errors",
    "replace_errors",
    "replace_reader",
    "replace_writer",
]


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


def replace_errors(
    session: Any, replacement: Callable[[PySparkException], Exception | None]
) -> None:
    """Raises what `replacement` gives instead of an error that the server sends the session."""
    client = session._client
    if _WATCHED in vars(client):
        return
    vars(client)[_WATCHED] = True
    original = client._handle_rpc_error

    def handle(error: Any) -> Any:
        try:
            return original(error)
        except PySparkException as found:
            better = replacement(found)
            if better is None:
                raise
            raise better from found

    client._handle_rpc_error = handle


_WATCHED = "_lakebed_watched"


def convert_errors() -> None:
    """Raises the error that a worker sent instead of the exception that has it in its message."""
    original = core.convert_exception

    def convert_exception(info: Any, message: str, details: Any, *more: Any, **named: Any) -> Any:
        found = _carried(message, details)
        return original(info, message, details, *more, **named) if found is None else found

    core.convert_exception = convert_exception


_plain_writer = DataFrame.write.fget


def _carried(message: str, details: Any) -> LakebedError | None:
    """The message may be cut; the details have those of all causes whole."""
    texts = [message, *(each.message for each in (details.errors if details is not None else ()))]
    found = (find_carried(text) or broken_rule(text) for text in texts)
    return next((each for each in found if each is not None), None)
