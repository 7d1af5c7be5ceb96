"""PySpark's record of where in a program each column was created.

For every operation on a column PySpark asks the JVM for the session and a setting, and to record
the call site and forget it: about ten calls. Those of Lakebed's own operations are of no use, and a
MERGE has two hundred of them. Private names of `pyspark.errors.utils`, on Spark 4.0 to 4.3.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.errors import utils

_CHECK = "is_debugging_enabled"
_thread = threading.local()
_lock = threading.Lock()


@contextmanager
def without_call_sites() -> Iterator[None]:
    """No call sites are recorded in this thread meanwhile; other threads are unchanged."""
    _install()
    before = _is_quiet()
    _thread.is_quiet = True
    try:
        yield
    finally:
        _thread.is_quiet = before


def _is_quiet() -> bool:
    return getattr(_thread, "is_quiet", False)


def _install() -> None:
    with _lock:
        original: Callable[[], bool] | Any = getattr(utils, _CHECK, None)
        if original is None or getattr(original, "is_of_lakebed", False):
            return

        def is_debugging_enabled() -> bool:
            return not _is_quiet() and original()

        is_debugging_enabled.is_of_lakebed = True  # type: ignore[attr-defined]
        setattr(utils, _CHECK, is_debugging_enabled)
