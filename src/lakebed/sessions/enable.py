"""Sessions that read and write Delta tables: `lakebed.session` and `lakebed.enable`.

A session is marked by a setting of its own, so a copy of the session that Spark makes for a stream
is enabled too, and a new session is not.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from pyspark.sql import SparkSession
from pyspark.util import is_remote_only

from lakebed.errors import InvalidArgumentError
from lakebed.sessions.connectors import PACKAGES, require_connectors, with_connectors
from lakebed.settings.setting_table import ENABLED
from lakebed.spark.errors.pyspark_kinds import raise_as_pyspark
from lakebed.spark.internals.startup.versions import explained_start
from lakebed.spark.session.session_kind import is_connect, is_served


def session(
    name: str = "lakebed",
    *,
    master: str | None = None,
    remote: str | None = None,
    stores: Sequence[str] = (),
    **conf: Any,
) -> SparkSession:
    """A Spark session that reads and writes Delta tables; the one that is running, if there is one.

    `remote` is the address of a Spark Connect server, such as `sc://spark.example.com`. Settings
    are given by name: `session("shop", spark_sql_shuffle_partitions=8)`, or as
    `**{"spark.sql.shuffle.partitions": 8}`.

    `stores` are object stores that Spark itself reads and writes: "s3", "azure" and "gcs". Spark
    downloads their Hadoop connectors when it starts. Without them Python workers do it, slower.
    """
    settings = {_setting(key): _text(value) for key, value in conf.items()}
    runs_already = remote is not None or _is_running()
    if stores and not runs_already:
        settings[PACKAGES] = with_connectors(stores, settings.get(PACKAGES))
    builder = SparkSession.builder.appName(name)
    if master is not None:
        builder = builder.master(master)
        _share_python(master)
    if remote is not None:
        builder = builder.remote(remote)
    for key, value in settings.items():
        builder = builder.config(key, value)
    with explained_start():
        spark = builder.getOrCreate()
    if stores and runs_already:
        require_connectors(spark, stores)
    return enable(spark)


def enable(spark: SparkSession) -> SparkSession:
    """Makes `format("delta")` read and write Delta tables; the same session, for chaining.

    Sessions of Spark Connect too. Other formats and other sessions stay as they are. Enabling twice
    does no harm.
    """
    raise_as_pyspark()
    if is_served(spark):
        # The server reads and writes them. What its errors are called is all that a client needs.
        import_module("lakebed.spark.errors.connect_conflicts")
        return spark
    # Late, because neither kind of session can count on what the other needs to be installed.
    if is_connect(spark):
        from lakebed.sessions import connect_session
        from lakebed.spark.workers.workers_plane import register

        connect_session.install(spark)
        register(spark)
    elif isinstance(spark, SparkSession):
        from lakebed.sessions.native.python_side import enable_native

        enable_native(spark)
    else:
        raise InvalidArgumentError(
            f"{type(spark).__name__} is not a session of Spark",
            hint="give a SparkSession, classic or of Spark Connect",
        )
    spark.conf.set(ENABLED.name, "true")
    return spark


def _share_python(master: str) -> None:
    """Workers on this machine are to find lakebed: Spark would start any `python3` there is."""
    if master.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


def _is_running() -> bool:
    """Whether this process has a JVM, which takes no further JARs."""
    if is_remote_only():
        return False
    from pyspark import SparkContext

    return SparkContext._active_spark_context is not None


def _setting(key: str) -> str:
    """Python's keywords have no dots, and Spark's settings have no underscores."""
    return key.replace("_", ".") if key.startswith("spark_") else key


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
