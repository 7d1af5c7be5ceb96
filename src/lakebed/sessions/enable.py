"""Sessions that read Delta tables: `lakebed.session` and `lakebed.enable`.

A session is marked by a setting of its own, so a copy of the session that Spark makes for a stream
is enabled too, and a new session is not.
"""

from __future__ import annotations

import logging
import threading
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.readwriter import DataFrameWriter

from lakebed.errors import InvalidArgumentError
from lakebed.sessions.reader import DeltaReader
from lakebed.sessions.writer import writer_class
from lakebed.spark import failures
from lakebed.spark import jvm as internals
from lakebed.spark.jvm import Jvm
from lakebed.spark.jvm_rules import install_rules
from lakebed.spark.jvm_write import replace_writer

ENABLED = "spark.lakebed.enabled"
_LOG = logging.getLogger("lakebed")


def session(name: str = "lakebed", *, master: str | None = None, **conf: Any) -> SparkSession:
    """A Spark session that reads Delta tables; the one that is running, if there is one.

    Settings are given by name: `session("shop", spark_sql_shuffle_partitions=8)`, or as
    `**{"spark.sql.shuffle.partitions": 8}`.
    """
    builder = SparkSession.builder.appName(name)
    if master is not None:
        builder = builder.master(master)
    for key, value in conf.items():
        builder = builder.config(_setting(key), _text(value))
    return enable(builder.getOrCreate())


def enable(spark: SparkSession) -> SparkSession:
    """Makes `spark.read.format("delta")` read Delta tables; the same session, for chaining.

    Other formats and other sessions stay as they are. Enabling twice does no harm.
    """
    if not internals.is_classic(spark):
        raise InvalidArgumentError(
            f"{type(spark).__name__} is not a session of Spark with a JVM of its own",
            hint="give the SparkSession of a classic, not a Spark Connect, application",
        )
    _install()
    Jvm.of(spark).start_callbacks()
    spark.conf.set(ENABLED, "true")
    _install_rules(spark)
    return spark


def is_enabled(spark: SparkSession) -> bool:
    return spark.conf.get(ENABLED, "false") == "true"


_lock = threading.Lock()
_installed = False


def _install() -> None:
    """Once for the process; what is installed asks each session whether it is enabled."""
    global _installed
    with _lock:
        if not _installed:
            internals.replace_reader(_reader)
            replace_writer(_writer)
            failures.install()
            _installed = True


def _install_rules(spark: SparkSession) -> None:
    """Without its rules a session answers the same, but slower."""
    try:
        install_rules(spark)
    except Exception:  # noqa: BLE001 - Spark can do without
        _LOG.warning("Lakebed's rules cannot be added to Spark's optimizer", exc_info=True)


def _reader(spark: SparkSession) -> DeltaReader | None:
    return DeltaReader(spark) if is_enabled(spark) else None


def _writer(frame: DataFrame) -> Any | None:
    if not is_enabled(frame.sparkSession):
        return None
    return writer_class(DataFrameWriter)(frame)


def _setting(key: str) -> str:
    """Python's keywords have no dots, and Spark's settings have no underscores."""
    return key.replace("_", ".") if key.startswith("spark_") else key


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
