"""A client of a server of Spark Connect that has no Lakebed; the server is in tests/."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import lakebed


@pytest.fixture(scope="module")
def remote(connect_server: str) -> Iterator[Any]:
    from pyspark.sql.connect.session import SparkSession

    # Not through SparkSession.builder, which allows one kind of session in a process alone.
    session = SparkSession.builder.remote(connect_server).getOrCreate()
    yield lakebed.enable(session)
    session.stop()
