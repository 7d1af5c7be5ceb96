"""All settings of a session at once, and the one that ends with the write that it is about."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from lakebed.settings.setting_table import TXN_RESET, TXN_VERSION
from lakebed.spark.session.session_kind import is_connect


def all_settings(session: SparkSession) -> dict[str, str]:
    """What `session.conf.getAll` has, which takes three calls to the JVM for each setting."""
    if is_connect(session):
        return dict(session.conf.getAll)
    from lakebed.spark.internals.jvm import Jvm

    return Jvm.of(session).settings()


def reset_txn_version(session: SparkSession, settings: Mapping[str, str]) -> None:
    """After a write of the version, if the session asks for that: the next one needs another."""
    if TXN_RESET.read(settings) and TXN_VERSION.name in settings:
        session.conf.unset(TXN_VERSION.name)
