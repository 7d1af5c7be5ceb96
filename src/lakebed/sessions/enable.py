"""Sessions that read and write Delta tables: `lakebed.session` and `lakebed.enable`.

A session is marked by a setting of its own, so a copy of the session that Spark makes for a stream
is enabled too, and a new session is not.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from pyspark.sql import SparkSession

from lakebed.errors import InvalidArgumentError
from lakebed.spark.enabled import ENABLED
from lakebed.spark.functions import is_connect
from lakebed.spark.internals.versions import explained_start
from lakebed.spark.served import is_served


def session(
    name: str = "lakebed", *, master: str | None = None, remote: str | None = None, **conf: Any
) -> SparkSession:
    """A Spark session that reads and writes Delta tables; the one that is running, if there is one.

    `remote` is the address of a Spark Connect server, such as `sc://spark.example.com`. Settings
    are given by name: `session("shop", spark_sql_shuffle_partitions=8)`, or as
    `**{"spark.sql.shuffle.partitions": 8}`.
    """
    builder = SparkSession.builder.appName(name)
    if master is not None:
        builder = builder.master(master)
        _share_python(master)
    if remote is not None:
        builder = builder.remote(remote)
    for key, value in conf.items():
        builder = builder.config(_setting(key), _text(value))
    with explained_start():
        spark = builder.getOrCreate()
    return enable(spark)


def enable(spark: SparkSession) -> SparkSession:
    """Makes `format("delta")` read and write Delta tables; the same session, for chaining.

    Sessions of Spark Connect too. Other formats and other sessions stay as they are. Enabling twice
    does no harm.
    """
    if is_served(spark):
        # The server reads and writes them; the client is as it was.
        return spark
    # Late, because neither kind of session can count on what the other needs to be installed.
    if is_connect(spark):
        from lakebed.sessions import remote
        from lakebed.spark.workers.plane import register

        remote.install(spark)
        register(spark)
    elif isinstance(spark, SparkSession):
        from lakebed.sessions.native.enable import enable_native

        enable_native(spark)
    else:
        raise InvalidArgumentError(
            f"{type(spark).__name__} is not a session of Spark",
            hint="give a SparkSession, classic or of Spark Connect",
        )
    spark.conf.set(ENABLED, "true")
    return spark


def _share_python(master: str) -> None:
    """Workers on this machine are to find lakebed: Spark would start any `python3` there is."""
    if master.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


def _setting(key: str) -> str:
    """Python's keywords have no dots, and Spark's settings have no underscores."""
    return key.replace("_", ".") if key.startswith("spark_") else key


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
