"""Sessions of Spark Connect, whose driver is a server: what enabling one changes in pyspark."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.connect.catalog import Catalog
from pyspark.sql.connect.dataframe import DataFrame as ConnectDataFrame

from lakebed.sessions.catalog_answers import answers
from lakebed.sessions.reader import reader_class
from lakebed.sessions.save import create_in_catalog
from lakebed.sessions.table_writer import table_writer
from lakebed.sessions.writer import writer_class
from lakebed.spark.enabled import is_enabled
from lakebed.spark.internals import connect as internals
from lakebed.spark.internals.catalog_methods import (
    replace_catalog_methods,
    replace_create_table,
    replace_table_writer,
)
from lakebed.sql.front import run_sql
from lakebed.sql.remembered_views import forget_named, forget_view
from lakebed.sql.suggestions import suggest_names


def install(spark: SparkSession) -> None:
    """Once for the process; what is installed asks each session whether it is enabled."""
    global _installed
    with _lock:
        if not _installed:
            internals.replace_reader(_reader)
            internals.replace_writer(_writer)
            internals.replace_sql(_sql)
            replace_table_writer(ConnectDataFrame, table_writer)
            replace_create_table(Catalog, create_in_catalog)
            replace_catalog_methods(Catalog, answers())
            internals.convert_errors()
            internals.before_temporary_views(forget_view)
            _installed = True
    # The server looks for tables late, so that any request may fail for want of one.
    internals.on_analysis_error(spark, suggest_names)


_lock = threading.Lock()
_installed = False


def _reader(spark: SparkSession) -> Any | None:
    return reader_class(internals.DataFrameReader)(spark) if is_enabled(spark) else None


def _writer(frame: DataFrame) -> Any | None:
    if not is_enabled(frame.sparkSession):
        return None
    return writer_class(internals.FrameWriter)(frame)


def _sql(spark: SparkSession, text: Any, args: Any, plain: Callable[[], DataFrame]) -> DataFrame:
    if not isinstance(text, str):
        return plain()
    forget_named(spark, text)
    made = run_sql(spark, text, args)
    return plain() if made is None else made
