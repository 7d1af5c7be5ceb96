"""Sessions of Spark Connect whose server does not know Delta tables.

`spark.read` and `df.write` of paths go through Python workers. All else that is about Delta tables
is an error that says which server to use.
"""

from __future__ import annotations

import threading
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from lakebed.sessions.reader import reader_class
from lakebed.sessions.writer import writer_class
from lakebed.spark.internals.connect import client as internals
from lakebed.spark.session.enabled import is_enabled
from lakebed.spark.session.server_errors import server_error


def install(spark: SparkSession) -> None:
    """Once for the process; what is installed asks each session whether it is enabled."""
    global _installed
    with _lock:
        if not _installed:
            internals.replace_reader(_reader)
            internals.replace_writer(_writer)
            internals.convert_errors()
            _installed = True
    internals.replace_errors(spark, server_error)


_lock = threading.Lock()
_installed = False


def _reader(spark: SparkSession) -> Any | None:
    return reader_class(internals.DataFrameReader)(spark) if is_enabled(spark) else None


def _writer(frame: DataFrame) -> Any | None:
    if not is_enabled(frame.sparkSession):
        return None
    return writer_class(internals.FrameWriter)(frame)
