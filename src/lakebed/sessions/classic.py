"""Classic sessions, whose driver is this process: what enabling one changes in pyspark."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.catalog import Catalog
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame
from pyspark.sql.readwriter import DataFrameReader, DataFrameWriter

from lakebed.errors import UnsupportedFeatureError
from lakebed.sessions.catalog_answers import answers
from lakebed.sessions.reader import reader_class
from lakebed.sessions.save import create_in_catalog
from lakebed.sessions.table_writer import table_writer
from lakebed.sessions.writer import writer_class
from lakebed.spark import failures
from lakebed.spark.enabled import is_enabled
from lakebed.spark.internals import jvm as internals
from lakebed.spark.internals.catalog_methods import (
    before_caching,
    before_catalog,
    replace_catalog_methods,
    replace_create_table,
    replace_table_writer,
)
from lakebed.spark.internals.jvm import Jvm
from lakebed.spark.internals.rules import METADATA_ONLY, install_rule
from lakebed.spark.internals.sql_plans import is_available, note_caching
from lakebed.spark.internals.write import replace_writer
from lakebed.spark.session_catalog import sync_names
from lakebed.spark.sql_front import install_front
from lakebed.spark.workers.plane import register
from lakebed.sql.front import run_sql
from lakebed.sql.nested import NestedStatements
from lakebed.sql.parse import GRAMMARS
from lakebed.sql.query import delta_table
from lakebed.sql.suggestions import suggesting_names

_LOG = logging.getLogger("lakebed")


def install(spark: SparkSession) -> None:
    """Once for the process; what is installed asks each session whether it is enabled."""
    global _installed
    with _lock:
        if not _installed:
            internals.replace_reader(_reader)
            replace_writer(_writer)
            replace_table_writer(ClassicDataFrame, table_writer)
            internals.replace_sql(_sql)
            internals.replace_table(_table)
            before_catalog(_register_enabled)
            replace_create_table(Catalog, create_in_catalog)
            replace_catalog_methods(Catalog, answers())
            before_caching(Catalog, _note_caching)
            failures.install()
            _installed = True
    Jvm.of(spark).start_callbacks()
    _install_rules(spark)


_lock = threading.Lock()
_installed = False


def _install_rules(spark: SparkSession) -> None:
    """Without its rules a session answers the same, but slower."""
    try:
        install_rule(spark, METADATA_ONLY)
    except Exception:  # noqa: BLE001 - Spark can do without
        _LOG.warning("Lakebed's rules cannot be added to Spark's optimizer", exc_info=True)
    install_front(spark, NestedStatements(), GRAMMARS)


def _sql(spark: SparkSession, text: Any, args: Any, plain: Callable[[], DataFrame]) -> DataFrame:
    if not isinstance(text, str):
        return plain()
    try:
        with suggesting_names(spark):
            return _run(spark, text, args, plain)
    except Exception as error:
        if not internals.is_missing_source(error) or not is_enabled(spark):
            raise
        raise UnsupportedFeatureError(
            "the statement leads to a Delta table in a way that Lakebed does not follow",
            hint="write the statement with the name of the table in it, or give it a temporary "
            "view of spark.table(name)",
        ) from None


def _run(spark: SparkSession, text: str, args: Any, plain: Callable[[], DataFrame]) -> DataFrame:
    made = run_sql(spark, text, args)
    if made is not None:
        return made
    # Only what is left to Spark needs the name of the source, whose registration takes seconds.
    if "delta" in text.lower():
        _register_enabled(spark)
    return plain()


def _register_enabled(spark: SparkSession) -> None:
    """Spark asks the source of a table for it, even to tell its name."""
    if is_enabled(spark):
        register(spark)
        sync_names(spark)


def _note_caching(spark: SparkSession, name: str, is_cached: bool) -> None:
    if is_enabled(spark) and is_available(spark):
        note_caching(spark, name, is_cached=is_cached)


def _table(spark: SparkSession, name: str) -> DataFrame | None:
    sync_names(spark)
    return delta_table(spark, name, {})


def _reader(spark: SparkSession) -> Any | None:
    return reader_class(DataFrameReader)(spark) if is_enabled(spark) else None


def _writer(frame: DataFrame) -> Any | None:
    if not is_enabled(frame.sparkSession):
        return None
    return writer_class(DataFrameWriter)(frame)
