"""The two data planes on Spark, and which of them serves a table.

The native plane is Spark's own Parquet reader and writer, reached through py4j. Where there is no
py4j (Spark Connect), or Hadoop has no connector for the store, Python workers read and write with
pyarrow: slower, with the same results.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from lakebed.errors import InvalidArgumentError
from lakebed.spark.functions import is_connect
from lakebed.spark.plane import Plane
from lakebed.spark.plane_options import hadoop_options
from lakebed.storage.store import Store

SETTING = "spark.lakebed.dataPlane"
"""auto, native or workers."""


def plane_for(
    session: SparkSession, store: Store, root: str, options: Mapping[str, str] | None = None
) -> Plane:
    """The plane for the table in a store. `root` is its folder as Hadoop would name it.

    `options` are those that the store was opened with: Hadoop has a way of its own to it. Workers
    take the store along as it is.
    """
    # Late, because each plane needs what the other has not: py4j is no part of a Connect client.
    if _is_native(session, root):
        from lakebed.spark.native import NativePlane

        return NativePlane(session, store, root, hadoop_options(options or {}))
    from lakebed.spark.workers.plane import WorkersPlane

    return WorkersPlane(session, store)


def _is_native(session: SparkSession, root: str) -> bool:
    chosen = session.conf.get(SETTING, "auto")
    if chosen not in ("auto", "native", "workers"):
        raise InvalidArgumentError(
            f"{SETTING} is {chosen!r}", hint="set it to auto, native or workers"
        )
    if is_connect(session):
        if chosen == "native":
            raise InvalidArgumentError(
                f"{SETTING} is native, but a Spark Connect session has no JVM at hand",
                hint="set it to auto: Python workers then read and write",
            )
        return False
    return chosen == "native" or (chosen == "auto" and _has_connector(session, root))


def _has_connector(session: SparkSession, root: str) -> bool:
    from lakebed.spark.internals.jvm import Jvm

    scheme = root.partition("://")[0]
    return scheme == "file" or Jvm.of(session).has_file_system(scheme)
