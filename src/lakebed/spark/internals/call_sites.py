"""PySpark's notes of where in a program each column was made.

For every operation on a column PySpark asks the JVM for the session, for a setting, and to note the
place and to forget it: about ten calls. The places of Lakebed's own operations help nobody, and a
MERGE makes two hundred of them. Private names of `pyspark.errors.utils`, on Spark 4.0 to 4.3.
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
    """Meanwhile this thread notes no places; others do as before."""
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
