"""Which of the two data planes on Spark serves a table.

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
from lakebed.spark.stores.hadoop_connector import HadoopAccess, hadoop_access
from lakebed.storage.store import Store


def plane_for(
    session: SparkSession, store: Store, root: str, options: Mapping[str, str] | None = None
) -> Plane:
    """The plane for the table in a store. `root` is its folder as Hadoop would name it.

    `options` are those that the store was opened with: Hadoop opens it by itself. Workers get the
    store as it is.
    """
    # Late: py4j is not part of a Connect client.
    if not is_connect(session):
        access = _hadoop_access(session, root, options or {})
        if access is not None:
            from lakebed.spark.native.native_plane import NativePlane

            return NativePlane(session, store, access.root, access.settings)
    elif DATA_PLANE.of(session) == "native":
        raise InvalidArgumentError(
            f"{DATA_PLANE.name} is native, but a Spark Connect session has no JVM at hand",
            hint="set it to auto: Python workers then read and write",
        )
    from lakebed.spark.workers.workers_plane import WorkersPlane

    return WorkersPlane(session, store)


def _hadoop_access(
    session: SparkSession, root: str, options: Mapping[str, str]
) -> HadoopAccess | None:
    """None if Python workers read and write."""
    chosen = DATA_PLANE.of(session)
    if chosen == "workers":
        return None
    from lakebed.spark.internals.jvm import Jvm

    access = hadoop_access(root, options, Jvm.of(session).has_file_system)
    if isinstance(access, HadoopAccess):
        return access
    if chosen == "native":
        raise NoConnectorError(
            f"{access.reason}, and {DATA_PLANE.name} is native", hint=access.advice
        )
    if (access.reason, root.partition("://")[0]) not in _explained:
        _explained.add((access.reason, root.partition("://")[0]))
        _LOG.warning(
            "%s: Python workers read and write %s, which is slower. %s",
            access.reason,
            root,
            access.advice,
        )
    return None


_LOG = logging.getLogger("lakebed")
_explained: set[tuple[str, str]] = set()
"""Once in a process for each reason."""
