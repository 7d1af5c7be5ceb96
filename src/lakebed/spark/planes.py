"""The two data planes on Spark, and which of them serves a table.

The native plane is Spark's own Parquet reader and writer, reached through py4j. Where there is no
py4j (Spark Connect), or Hadoop has no connector for the store, Python workers read and write with
pyarrow: slower, with the same results.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from pyspark.sql import SparkSession

from lakebed.errors import InvalidArgumentError, NoConnectorError
from lakebed.settings.setting_table import DATA_PLANE
from lakebed.spark.plane.plane import Plane
from lakebed.spark.session.session_kind import is_connect
from lakebed.spark.stores.hadoop_connector import HadoopWay, hadoop_way
from lakebed.storage.store import Store


def plane_for(
    session: SparkSession, store: Store, root: str, options: Mapping[str, str] | None = None
) -> Plane:
    """The plane for the table in a store. `root` is its folder as Hadoop would name it.

    `options` are those that the store was opened with: Hadoop has a way of its own to it. Workers
    take the store along as it is.
    """
    # Late, because each plane needs what the other has not: py4j is no part of a Connect client.
    if not is_connect(session):
        way = _way(session, root, options or {})
        if way is not None:
            from lakebed.spark.native.native_plane import NativePlane

            return NativePlane(session, store, way.root, way.settings)
    elif DATA_PLANE.of(session) == "native":
        raise InvalidArgumentError(
            f"{DATA_PLANE.name} is native, but a Spark Connect session has no JVM at hand",
            hint="set it to auto: Python workers then read and write",
        )
    from lakebed.spark.workers.workers_plane import WorkersPlane

    return WorkersPlane(session, store)


def _way(session: SparkSession, root: str, options: Mapping[str, str]) -> HadoopWay | None:
    """None if workers are to read and write."""
    chosen = DATA_PLANE.of(session)
    if chosen == "workers":
        return None
    from lakebed.spark.internals.jvm import Jvm

    way = hadoop_way(root, options, Jvm.of(session).has_file_system)
    if isinstance(way, HadoopWay):
        return way
    if chosen == "native":
        raise NoConnectorError(f"{way.reason}, and {DATA_PLANE.name} is native", hint=way.advice)
    if (way.reason, root.partition("://")[0]) not in _explained:
        _explained.add((way.reason, root.partition("://")[0]))
        _LOG.warning(
            "%s: Python workers read and write %s, which is slower. %s",
            way.reason,
            root,
            way.advice,
        )
    return None


_LOG = logging.getLogger("lakebed")
_explained: set[tuple[str, str]] = set()
"""Once in a process for each reason."""
