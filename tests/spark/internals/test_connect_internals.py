"""The internals of Spark Connect's client that Lakebed touches, and what breaks without each."""

from __future__ import annotations

import inspect
from typing import Any

import pytest


def test_the_client_makes_exceptions_with_a_function_of_its_module() -> None:
    """Else errors of workers reach the user as tracebacks in a PythonException."""
    from pyspark.sql.connect.client import core

    source = inspect.getsource(core.SparkConnectClient)
    assert callable(core.convert_exception)
    assert "convert_exception(" in source
    names = list(inspect.signature(_original(core.convert_exception)).parameters)
    assert names[0] == "info"
    assert names[2] == "resp"


def _original(function: Any) -> Any:
    """The client's own function, also where a session of this process is enabled."""
    from pyspark.errors.exceptions import connect

    return connect.convert_exception if function.__module__ != connect.__name__ else function


def test_details_of_an_error_have_the_messages_of_all_causes() -> None:
    """Else an error is lost where Spark cuts the message."""
    from pyspark.sql.connect.proto import base_pb2

    response = base_pb2.FetchErrorDetailsResponse()
    response.errors.add(message="of the cause")
    assert [each.message for each in response.errors] == ["of the cause"]


@pytest.mark.parametrize("name", ["_df", "_spark", "_callback"])
def test_a_writer_remembers_what_it_was_made_of(name: str) -> None:
    """Else `DataFrame.write` cannot be replaced."""
    from pyspark.sql.connect.readwriter import DataFrameWriter

    writer: Any = DataFrameWriter.__new__(DataFrameWriter)
    plan, session = _Plan(), object()
    DataFrameWriter.__init__(writer, plan, session, None)
    assert getattr(writer, name) is not None


class _Plan:
    """As much of a plan as a writer looks at."""


def test_read_and_write_are_properties_that_can_be_replaced() -> None:
    """Else `format("delta")` goes to the source of the workers, which cannot write."""
    from pyspark.sql.connect.dataframe import DataFrame
    from pyspark.sql.connect.session import SparkSession

    assert isinstance(SparkSession.read, property)
    assert isinstance(DataFrame.write, property)
