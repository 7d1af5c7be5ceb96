"""Errors on their way between Python and the JVM.

An error in a callback becomes a plain Java exception that carries a number; when Spark hands that
exception to the user's thread, the number leads back to the Lakebed error itself. Errors of Spark's
readers on files of a table become Lakebed errors too, and those of Python workers arrive as data.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

from lakebed.errors import DataFileError, LakebedError
from lakebed.spark import jvm as internals
from lakebed.spark.carried_errors import find_carried
from lakebed.spark.jvm import JavaObject, Jvm
from lakebed.spark.rule_errors import broken_rule


@contextmanager
def reported_to(jvm: Jvm) -> Iterator[None]:
    """For the body of a callback: what goes wrong reaches the JVM, and then the user."""
    try:
        yield
    except LakebedError as error:
        raise _as_java(jvm, error) from error
    except Exception as error:
        origin = internals.origin(error)
        if origin is not None:
            # An error of Spark, such as a division by zero in a filter: it goes on as it came.
            raise jvm.java_exception(origin) from error
        raise _as_java(jvm, _unexpected(error)) from error


def install() -> None:
    """Converts errors for all sessions of this process; others than ours are left alone."""
    global _installed
    with _lock:
        if not _installed:
            internals.convert_errors(convert)
            _installed = True


def serve(root: str) -> None:
    """Remembers that files below `root` belong to a table that was read."""
    with _lock:
        _roots[root] = None
        while len(_roots) > _MOST:
            _roots.popitem(last=False)


def convert(error: JavaObject) -> LakebedError | None:
    """The Lakebed error behind or instead of a Java exception."""
    for each in internals.causes(error):
        message = each.getMessage() or ""
        carried = find_carried(message)
        if carried is not None:
            return carried
        found = _NUMBER.search(message)
        if found is not None and int(found[1]) in _errors:
            return _errors[int(found[1])]
        broken = broken_rule(message)
        if broken is not None:
            return broken
        file = _missing_file(message)
        if file is not None:
            return _gone(file)
    return None


_MOST = 1000
_NUMBER = re.compile(r"\(lakebed error (\d+)\)")
_MISSING = re.compile(
    r"\[FAILED_READ_FILE\.FILE_NOT_EXIST\].*?(?:file|path) (\S+?)[,.]? ", re.DOTALL
)
_lock = threading.Lock()
_installed = False
_numbers = count(1)
_errors: OrderedDict[int, LakebedError] = OrderedDict()
_roots: OrderedDict[str, None] = OrderedDict()


def _as_java(jvm: Jvm, error: LakebedError) -> Exception:
    with _lock:
        number = next(_numbers)
        _errors[number] = error
        while len(_errors) > _MOST:
            _errors.popitem(last=False)
    return jvm.java_error(f"{error} (lakebed error {number})")


def _unexpected(error: Exception) -> LakebedError:
    found = LakebedError(
        f"planning the scan failed unexpectedly: {type(error).__name__}: {error}",
        hint="please report this with the traceback",
    )
    found.__cause__ = error
    return found


def _missing_file(message: str) -> str | None:
    found = _MISSING.search(message)
    if found is None:
        return None
    return found[1]


def _gone(file: str) -> LakebedError:
    return DataFileError(
        "the version that was read needs this file, but it is gone",
        file=file,
        hint="VACUUM may have removed it; read a newer version or restore the file",
    )
