"""All settings of a session at once."""

from __future__ import annotations

from pyspark.sql import SparkSession

from lakebed.spark.session.session_kind import is_connect


def all_settings(session: SparkSession) -> dict[str, str]:
    """What `session.conf.getAll` has, which takes three calls to the JVM for each setting."""
    if is_connect(session):
        return dict(session.conf.getAll)
    from lakebed.spark.internals.jvm import Jvm

    return Jvm.of(session).settings()
