"""Errors that cross the border between Python and the JVM.

An error in a callback becomes a plain Java exception that carries a number; when Spark hands that
exception to the user's thread, the number leads back to the Lakebed error itself. Errors of Spark's
readers on files of a table become Lakebed errors too, and those of Python workers arrive as data.
"""

from __future__ import annotations

import re
import threading
import traceback
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from urllib.parse import unquote

from pyspark.errors import PySparkException

from lakebed.errors import DataFileError, JobFailedError, LakebedError
from lakebed.spark.errors.conditions import condition_of, java_family
from lakebed.spark.errors.encoded_errors import find_encoded
from lakebed.spark.errors.rule_errors import broken_rule
from lakebed.spark.internals import jvm as internals
from lakebed.spark.internals.jvm import JavaObject, Jvm


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
            # An error of Spark, such as a division by zero in a filter, goes on unchanged.
            raise jvm.java_exception(origin) from error
        raise _as_java(jvm, _unexpected(error)) from error
    except BaseException as error:
        # py4j would let Spark wait for an answer for ever.
        raise _as_java(jvm, error) from error
    finally:
        jvm.end_callback()


@contextmanager
def of_job(what: str) -> Iterator[None]:
    """For a job of Spark's: what pyspark leaves in Java's words becomes an error of Lakebed's."""
    try:
        yield
    except Exception as error:
        raw = internals.origin(error)
        if raw is None or isinstance(error, PySparkException):
            raise
        first = internals.causes(raw)[-1]
        raise JobFailedError(
            f"{what} failed: {first.getMessage() or first.toString()}",
            hint="nothing was committed: the table is as it was",
        ) from None


def install(amend: Callable[[Exception], None] | None = None) -> None:
    """Converts errors for all sessions of this process, if they come from Lakebed.

    `amend` may add to the messages of the others.
    """
    global _installed, _amend
    with _lock:
        _amend = amend or _amend
        if not _installed:
            internals.convert_errors(convert, lambda error: _amend(error))
            _installed = True


def register_root(root: str) -> None:
    """Remembers that files below `root` belong to a table that was read."""
    with _lock:
        _roots[root] = None
        _roots.move_to_end(root)
        while len(_roots) > _MOST:
            _roots.popitem(last=False)


def convert(error: JavaObject) -> BaseException | None:
    """The Lakebed error behind or instead of a Java exception."""
    for each in internals.causes(error):
        message = each.getMessage() or ""
        encoded = find_encoded(message)
        if encoded is not None:
            return encoded
        found = _NUMBER.search(message)
        if found is not None and int(found[1]) in _errors:
            return _errors[int(found[1])]
        own = _java_error(each, message)
        if own is not None:
            return own
        broken = broken_rule(message)
        if broken is not None:
            return broken
        unread = _unread_file(each, message)
        if unread is not None:
            return unread
    return None


def _as_it_is(error: Exception) -> None:
    del error


_amend: Callable[[Exception], None] = _as_it_is
_MOST = 1000
_NUMBER = re.compile(r"\(lakebed error (\d+)\)")
# Spark writes the file as a URL, and ends the sentence after it.
_UNREAD = re.compile(
    r"\[FAILED_READ_FILE\.(\w+)\][^\n]*? file (\S+)\.\s+(.*?)\s*SQLSTATE", re.DOTALL
)
_PACKAGES = ("lakebed.", "io.delta.exceptions.")
"""Of Lakebed's Java classes."""
_lock = threading.Lock()
_installed = False
_numbers = count(1)
_errors: OrderedDict[int, BaseException] = OrderedDict()
_roots: OrderedDict[str, None] = OrderedDict()


def _as_java(jvm: Jvm, error: BaseException) -> Exception:
    with _lock:
        number = next(_numbers)
        _errors[number] = error
        while len(_errors) > _MOST:
            _errors.popitem(last=False)
    text = f"{error} (lakebed error {number})"
    if not isinstance(error, LakebedError):
        return jvm.java_error(text)
    condition = condition_of(error)
    return jvm.lakebed_error(
        java_family(error),
        text,
        error.code,
        condition.name,
        condition.sql_state,
        dict(error.parameters or {}),
    )


def _java_error(error: JavaObject, message: str) -> LakebedError | None:
    """An error that Lakebed's Java classes raised."""
    if not str(error.getClass().getName()).startswith(_PACKAGES):
        return None
    code, known = str(error.getCode()), list(_known_errors(LakebedError))
    kind = next((each for each in known if each.code == code), LakebedError)
    named = str(error.getCondition())
    condition = None if named in (code, condition_of(kind.__new__(kind)).name) else named
    own = LakebedError.__new__(kind, condition=condition)
    LakebedError.__init__(own, message.removeprefix(f"[{code}] "), condition=condition)
    return own


def _known_errors(kind: type[LakebedError]) -> Iterator[type[LakebedError]]:
    for each in kind.__subclasses__():
        yield each
        yield from _known_errors(each)


def _unexpected(error: Exception) -> LakebedError:
    # PySpark drops the cause of what it raises, so the place goes into the message.
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(frame.filename).name}, line {frame.lineno}"
    return LakebedError(
        f"planning the scan failed unexpectedly: {type(error).__name__}: {error} ({place})",
        hint="please report this",
    )


def _unread_file(error: JavaObject, message: str) -> LakebedError | None:
    """For a file of a table, not for others that a query reads."""
    found = _UNREAD.search(message)
    if found is None or not _is_registered(found[2]):
        return None
    kind, file, reason = found.groups()
    if kind == "FILE_NOT_EXIST":
        return _gone(file)
    if kind == "PARQUET_COLUMN_DATA_TYPE_MISMATCH":
        return DataFileError(f"its columns are not those of the table: {reason}", file=file)
    return _damaged(file, _innermost(error) or reason)


def _is_registered(file: str) -> bool:
    decoded = unquote(file, errors="replace")
    return any(decoded.startswith(f"{root}/") for root in list(_roots))


def _innermost(error: JavaObject) -> str:
    """What the reader of the file said; Spark's own words around it say only that it failed."""
    messages = [str(each.getMessage() or "") for each in internals.causes(error)[1:]]
    found = next((text for text in reversed(messages) if text), "")
    return found.partition("\n")[0][:300]


def _gone(file: str) -> LakebedError:
    if "/_change_data/" in file:
        return DataFileError(
            "the change feed of a version that was read needs this file, but it is gone",
            file=file,
            hint="VACUUM may have removed it; start at a later version or restore the file",
        )
    return DataFileError(
        "the version that was read needs this file, but it is gone",
        file=file,
        hint="VACUUM may have removed it; read a newer version or restore the file",
    )


def _damaged(file: str, reason: str) -> LakebedError:
    return DataFileError(
        f"cannot be read: {reason}" if reason else "cannot be read",
        file=file,
        hint="the file is damaged or no Parquet file: restore it, or read another version",
    )
