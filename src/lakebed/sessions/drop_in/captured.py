"""`delta.exceptions.captured`: exceptions of the JVM as Python's, for the sessions of py4j."""

from pyspark.errors.exceptions import captured
from pyspark.util import is_remote_only

from lakebed.sessions.drop_in.exceptions import *  # noqa: F403
from lakebed.sessions.drop_in.exceptions import __all__ as __all__
from lakebed.spark.errors import jvm_errors

_delta_exception_patched = False


def patch() -> None:
    """From now on exceptions of the JVM are converted, as importing delta-spark has it."""
    global _delta_exception_patched
    if is_remote_only():
        return
    jvm_errors.install()
    # delta-spark's function has this name, by which its tests know that it is in place.
    captured.convert_exception.__module__ = "delta.exceptions.captured"
    _delta_exception_patched = True
