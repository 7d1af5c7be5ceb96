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

__all__ = [
    "DataFrameReader",
    "FrameWriter",
    "convert_errors",
    "replace_errors",
    "replace_reader",
    "replace_writer",
]


class FrameWriter(DataFrameWriter):
    """The writer of a DataFrame, created from the DataFrame as the classic one is."""

    def __init__(self, frame: Any) -> None:
        writer = _spark_writer(frame)
        super().__init__(writer._df, writer._spark, writer._callback)


def replace_reader(make: Callable[[Any], Any | None]) -> None:
    """`SparkSession.read` returns what `make` returns, or Spark's own reader if that is None."""
    original = SparkSession.read.fget

    def read(self: Any) -> Any:
        reader = make(self)
        return original(self) if reader is None else reader

    read.__doc__ = original.__doc__
    SparkSession.read = property(read)


def replace_writer(make: Callable[[Any], Any | None]) -> None:
    """The same for `DataFrame.write`."""

    def write(self: Any) -> Any:
        writer = make(self)
        return _spark_writer(self) if writer is None else writer

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


def convert_errors(find: Callable[[str], LakebedError | None]) -> None:
    """Raises the error that `find` finds in a message instead of Spark's exception."""
    original = core.convert_exception

    def convert_exception(info: Any, message: str, details: Any, *more: Any, **named: Any) -> Any:
        # The message may be truncated; the details have those of all causes in full.
        causes = details.errors if details is not None else ()
        found = (find(text) for text in [message, *(each.message for each in causes)])
        error = next((each for each in found if each is not None), None)
        return original(info, message, details, *more, **named) if error is None else error

    core.convert_exception = convert_exception


_spark_writer = DataFrame.write.fget
