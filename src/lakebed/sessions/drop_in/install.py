"""`lakebed.install_as_delta`: programs written for delta-spark run on Lakebed as they are."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

from lakebed.errors import InvalidArgumentError
from lakebed.sessions.drop_in import captured, package
from lakebed.sessions.drop_in.delta_spark_settings import (
    CATALOG,
    SESSION_CATALOG,
    lakebed_class,
    translate,
    translate_submit_arguments,
)
from lakebed.sessions.enable import enable
from lakebed.settings.setting_table import SERVER
from lakebed.spark.errors.pyspark_kinds import raise_as_pyspark
from lakebed.spark.internals.connect.connect_server import start_service
from lakebed.spark.internals.startup.bridge import set_up
from lakebed.spark.internals.startup.session_start import Hooks, hook_sessions
from lakebed.spark.session.session_kind import is_connect, is_enabled

if TYPE_CHECKING:
    from pyspark import SparkContext


def install_as_delta() -> None:
    """Makes `import delta` give Lakebed, and every session that starts from now on Delta-enabled.

    Call it before the program imports `delta`. A delta-spark that is installed is not imported
    then, and sessions do without its JARs: settings that name its two classes or its packages are
    taken out before Spark starts. Calling it twice does no harm.
    """
    install_with({})


def install_with(settings: Mapping[str, str]) -> None:
    """The same, with settings of Spark for sessions that do not make them themselves."""
    hooks = Hooks(settings, translate, translate_submit_arguments, _enable, is_enabled, _started)
    with _lock:
        _check_not_imported()
        _undo_all()
        package.register()
        captured.patch()
        raise_as_pyspark()
        _undo.extend([hook_sessions(hooks), package.unregister])


def remove() -> None:
    """Takes back what `install_as_delta` changed; sessions that are enabled stay so."""
    with _lock:
        _undo_all()


_lock = threading.Lock()
_undo: list[Callable[[], None]] = []


def _undo_all() -> None:
    while _undo:
        _undo.pop()()


def _check_not_imported() -> None:
    found = sys.modules.get("delta")
    if found is None or found.__name__ == package.__name__:
        return
    place = getattr(found, "__file__", None) or "an unknown place"
    raise InvalidArgumentError(
        f"another package delta is imported already, from {place}",
        hint="call lakebed.install_as_delta() before the first import of delta",
    )


def _started(context: SparkContext) -> None:
    if context.getConf().get(SERVER.name) == "true":
        spark = SparkSession(context)
        # This process is the client. The JVM starts another one that answers for the server.
        set_up(spark)
        start_service(spark)


def _enable(spark: SparkSession) -> None:
    # Settings of a cluster (spark-defaults.conf, spark-submit) come to light only now. A catalog of
    # the server's is the server's own matter.
    if not is_connect(spark) and spark.conf.get(SESSION_CATALOG, None) == CATALOG:
        replacement = lakebed_class(CATALOG)
        if replacement is None:
            spark.conf.unset(SESSION_CATALOG)
        else:
            spark.conf.set(SESSION_CATALOG, replacement)
    enable(spark)
